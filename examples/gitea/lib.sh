# shellcheck shell=sh
# What setup.sh and push.sh share. Sourced, not run.

die() {
	printf '%s: %s\n' "$0" "$*" >&2
	exit 1
}

# compose is Compose v2, or 1.29 where there is no other. COMPOSE_PROJECT_NAME and COMPOSE_FILE apply.
if docker compose version >/dev/null 2>&1; then
	compose() { docker compose "$@"; }
else
	compose() { docker-compose "$@"; }
fi

# gitea runs Gitea's own command line in its container.
gitea() {
	compose exec -T gitea gitea "$@" </dev/null
}

# gitea_api METHOD PATH [JSON] asks Gitea's API, from within its container, and prints the answer; no success: exit status 1. The password
# goes in by standard input: as an argument every user of this machine could read it.
gitea_api() {
	# shellcheck disable=SC2016 # expanded in the container
	printf 'user = "root:%s"\n' "$(cat secrets/gitea-admin-password)" | compose exec -T gitea \
		curl --silent --fail --config - --header 'Content-Type: application/json' --request "$1" ${3:+--data "$3"} \
		"http://localhost:3000/api/v1$2"
}

# wait_for WHAT COMMAND... tries a command for two minutes.
wait_for() {
	what=$1
	shift
	for _ in $(seq 120); do
		"$@" >/dev/null 2>&1 && return
		sleep 1
	done
	die "$what did not come up in time: docker compose logs"
}
