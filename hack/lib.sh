# shellcheck shell=sh
# What the scripts for make run and make stop share. Sourced, not run.

# owner_label marks the containers that make run made: only those are ever replaced or removed.
owner_label=garm-entrypoint.made-by

die() {
	printf '%s\n' "$*" >&2
	exit 1
}

# state prints the container's state (running, exited, ...), or nothing when there is no such container.
state() {
	docker container inspect --format '{{.State.Status}}' "$1" 2>/dev/null || true
}

# must_be_ours ends the script when the container was not made by make run.
must_be_ours() {
	owner=$(docker container inspect --format "{{index .Config.Labels \"$owner_label\"}}" "$1")
	[ "$owner" = make-run ] || die "a container named $1 exists and was not made by make run: choose another name with NAME="
}
