#!/bin/sh
# Runs the image in a container and waits until garm is ready. The variables below that are set here are handed on.
# usage: IMAGE=name NAME=container [PUBLISH=[address:]port] [BEGAN=seconds] hack/run.sh
# BEGAN: when the command began, in seconds since 1970, to tell how long it took to ready.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=hack/lib.sh
. hack/lib.sh
: "${IMAGE:?names the image}" "${NAME:?names the container and its volume}"

publish=${PUBLISH:-127.0.0.1:9997}

# Those that hold values; paths on this machine mean nothing in the container.
handed_on='GARM_USERNAME GARM_PASSWORD GARM_EMAIL GARM_FULL_NAME GARM_BASE_URL GARM_METADATA_URL GARM_CALLBACK_URL GARM_WEBHOOK_URL
	GARM_AGENT_URL GARM_FIRST_BOOT GARM_LOG_LEVEL GARM_LOG_FORMAT'

healthcheck() {
	docker exec "$NAME" /usr/local/bin/garm-entrypoint healthcheck
}

# local_url prints the URL by which this machine reaches a published address.
local_url() {
	case $1 in
	*:*) host=${1%:*} ;;
	*) host=localhost ;;
	esac
	case $host in
	0.0.0.0 | '[::]') host=localhost ;;
	esac
	printf 'http://%s:%s\n' "$host" "${1##*:}"
}

# start runs a new container, in place of a stopped one of ours. The garm data is in the volume and stays.
start() {
	[ -z "$(state "$NAME")" ] || docker container rm "$NAME" >/dev/null

	# By name alone: no value gets into an argument list.
	set --
	new_volume=
	docker volume inspect "$NAME" >/dev/null 2>&1 || new_volume=true
	if [ -n "$new_volume" ] && [ -z "${GARM_BASE_URL:-}${GARM_METADATA_URL:-}" ]; then
		# Without URLs a new garm answers little. These do for a look around on this machine; an old volume keeps what it has.
		case $publish in
		0 | *:0) GARM_BASE_URL=http://localhost:9997 ;; # the engine picks the port, and we cannot know it yet
		*) GARM_BASE_URL=$(local_url "$publish") ;;
		esac
		export GARM_BASE_URL
	fi
	for variable in $handed_on; do
		! printenv "$variable" >/dev/null || set -- "$@" --env "$variable"
	done
	docker run --detach --name "$NAME" --label "$owner_label=make-run" --stop-timeout 150 \
		--volume "$NAME:/etc/garm" --publish "$publish:9997" "$@" "$IMAGE" >/dev/null || {
		[ -z "$(state "$NAME")" ] || docker container rm --force "$NAME" >/dev/null
		[ -z "$new_volume" ] || docker volume rm "$NAME" >/dev/null 2>&1 || true
		die "cannot start the container: when the port is taken, choose another one with PUBLISH=127.0.0.1:PORT"
	}
}

# wait_ready asks until garm is ready, for longer than the entrypoint's own limit of 5 minutes.
wait_ready() {
	left=660
	until reason=$(healthcheck 2>&1); do
		if [ "$(state "$NAME")" != running ]; then
			docker logs "$NAME" >&2
			die "garm ended with exit code $(docker container inspect --format '{{.State.ExitCode}}' "$NAME") instead of becoming ready: its log is above"
		fi
		[ "$left" -gt 0 ] || die "garm is not ready: $reason; see: docker logs $NAME"
		left=$((left - 1))
		sleep 0.5
	done
}

# stop_call prints how to end this container.
stop_call() {
	[ "$NAME" = garm ] && echo "make stop" || echo "make stop NAME=$NAME"
}

report() {
	url=$(local_url "$(docker port "$NAME" 9997/tcp | head -n 1)")
	user=$(docker container inspect --format '{{range .Config.Env}}{{println .}}{{end}}' "$NAME" | sed -n 's/^GARM_USERNAME=//p')
	# The file is there when, and only when, the password was generated.
	if docker exec "$NAME" test -f /etc/garm/admin-password; then
		password="docker exec $NAME cat /etc/garm/admin-password"
	else
		password="the one that was in GARM_PASSWORD when this volume was new"
	fi
	ui="$url/ui/"
	case $(docker image inspect --format '{{index .Config.Labels "org.opencontainers.image.base.name"}}' "$IMAGE") in
	garm-entrypoint-standin-*) ui="none in this stand-in image" ;;
	esac
	cat <<-EOT

		garm is ready.
		  URL       $url
		  web UI    $ui
		  user      ${user:-admin}
		  password  $password
		  garm-cli  docker exec -it $NAME garm-cli
		  log       docker logs -f $NAME
		  stop      $(stop_call)      (the data stays in the volume $NAME)

		Next: say who runs jobs: docs/provisioning.md, or docs/README.md for all else.
	EOT
	[ -z "${BEGAN:-}" ] || printf '\nfrom nothing to ready: %d s\n' $(($(date +%s) - BEGAN))
}

case $(state "$NAME") in
'' | created | exited | dead)
	[ -z "$(state "$NAME")" ] || must_be_ours "$NAME"
	start
	;;
*)
	must_be_ours "$NAME"
	echo "container $NAME already runs and is left as it is."
	if [ "$(docker container inspect --format '{{.Image}}' "$NAME")" != "$(docker image inspect --format '{{.Id}}' "$IMAGE")" ]; then
		echo "It runs another build than $IMAGE: $(stop_call), then make run, changes over."
	fi
	;;
esac
wait_ready
report
