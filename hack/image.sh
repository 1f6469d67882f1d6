#!/bin/sh
# Builds the image. The Dockerfile alone does it too; this adds the version, and the stand-in base images for BASE=local.
# BASE=auto, the default, takes the public base images where they can be pulled, and else the stand-ins.
# usage: IMAGE=name [BASE=auto|public|local] [VERSION=v] [REVISION=r] [SOURCE_URL=url] [TARGET=binary] hack/image.sh
set -eu
cd "$(dirname "$0")/.."
: "${IMAGE:?names the image}"
base=$(hack/base.sh)

# --platform and build caches are the builder's business: further arguments go to docker build.
set -- "$@" --tag "$IMAGE" --build-arg "VERSION=${VERSION:-dev}" --build-arg "REVISION=${REVISION:-unknown}" \
	--build-arg "SOURCE_URL=${SOURCE_URL:-}"
[ -z "${TARGET:-}" ] || set -- "$@" --target "$TARGET"

if [ "$base" = local ]; then
	hack/need.sh run
	go_image=$(image/standin/go.sh)
	garm_image=$(image/standin/garm.sh)
	set -- "$@" --build-arg "GO_IMAGE=$go_image" --build-arg "GARM_IMAGE=$garm_image"
	echo "base images are local stand-ins: this garm has no web UI and no providers" >&2
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM HUP

echo "building $IMAGE" >&2
if ! docker build "$@" . >"$log" 2>&1; then
	cat "$log" >&2
	echo "cannot build $IMAGE: see above" >&2
	exit 1
fi
echo "built $IMAGE" >&2
