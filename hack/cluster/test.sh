#!/bin/bash
# Tests examples/kubernetes on one node of a real Kubernetes, in namespaces of its own, and leaves nothing behind. As root.
# usage: hack/cluster/test.sh [FLAGS OF THE TEST, such as -test.run=TestOverlays/tls]
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
began=$SECONDS
die() {
	echo "$*" >&2
	exit 1
}

[ "$(id -u)" = 0 ] || die "cannot make a node: it needs root"
docker info >/dev/null 2>&1 || die "cannot make the images: no Docker Engine answers"
"$root/hack/need.sh" cluster
programs=$(./build.sh)

dir=$(mktemp -d "${TMPDIR:-/tmp}/garm-entrypoint-cluster.XXXXXX")
name=$(basename "$dir" | tr . - | tr "[:upper:]" "[:lower:]")
image=$name:test

node=
# leave removes all that is not gone with the namespaces.
leave() {
	[ -z "$node" ] || wait "$node" 2>/dev/null || true
	docker image rm --force --no-prune "$image" "$image-next" "$image-pause" >/dev/null 2>&1 || true
	find /sys/fs/cgroup -depth -type d -path "*/$name*" -exec rmdir {} + 2>/dev/null || true
	rm -rf --one-file-system "$dir"
}
trap leave EXIT
trap '[ -z "$node" ] || kill -KILL "$node"; exit 130' INT TERM HUP # and all in the namespaces with it

# One parent for the node's control groups, in every hierarchy. A cpuset is empty at first, and then nothing may enter it.
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
	mkdir "/sys/fs/cgroup/$name"
	group=/sys/fs/cgroup/$name
else
	group=/sys/fs/cgroup/cpu/$name
	for hierarchy in /sys/fs/cgroup/*/; do
		mkdir "$hierarchy$name"
		for file in cpuset.cpus cpuset.mems; do
			[ ! -e "$hierarchy$file" ] || cat "$hierarchy$file" >"$hierarchy$name/$file"
		done
	done
fi

# The node goes before what else the machine does: it mostly waits, and its times are measured. All parts of it are in that group, since
# a pod's weight is counted against its neighbours', and a pod asks for little.
if [ -e "$group/cpu.shares" ]; then echo 262144 >"$group/cpu.shares"; else echo 10000 >"$group/cpu.weight"; fi

# Archives, since the Docker Engine is out of reach in there. The second image is the first one with another label.
mkdir "$dir/images"
IMAGE=$image BASE=local VERSION=test "$root/hack/image.sh"
printf 'FROM %s\nLABEL garm-entrypoint.cluster=next\n' "$image" | docker build --quiet --tag "$image-next" - >/dev/null
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$dir/pause" ./pause
tar -C "$dir" -c pause | docker import --change 'ENTRYPOINT ["/pause"]' - "$image-pause" >/dev/null
plain=$("$root/image/standin/garm.sh")
docker save --output "$dir/images/own.tar" "$image"
docker save --output "$dir/images/next.tar" "$image-next"
docker save --output "$dir/images/pause.tar" "$image-pause"
docker save --output "$dir/images/plain.tar" "$plain"

go test -c -o "$dir/cluster.test" .
echo "node and images took $((SECONDS - began)) s; starting the node" >&2
status=0
# The kubelet makes groups below this one, where the unified hierarchy then lets no process be: those of the node stay where they are there.
enter=$group/cgroup.procs
[ -e "$group/cpu.shares" ] || enter=/dev/null
GARM_ENTRYPOINT_CLUSTER_PROGRAMS=$programs GARM_ENTRYPOINT_CLUSTER_DIR=$dir GARM_ENTRYPOINT_CLUSTER_CGROUP=$name \
	bash -c 'echo $$ >"$1"; shift; exec unshare --net --mount --pid --fork --kill-child --mount-proc "$@"' node "$enter" \
	"$dir/cluster.test" -test.v -test.timeout=30m "$@" &
node=$!
wait "$node" || status=$?
node=

leave
left=$(
	grep -F "$dir" /proc/mounts || true
	find /sys/fs/cgroup -type d -name "$name"
	pgrep -f "$dir/" || true
	[ ! -e "$dir" ] || echo "$dir"
)
[ -z "$left" ] || die "left behind: $left"
echo "no process, mount, control group or file is left; $((SECONDS - began)) s" >&2
exit "$status"
