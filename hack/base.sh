#!/bin/sh
# Prints where the base images are to come from, public or local: as BASE says, or with BASE=auto public where they can be pulled. Where no
# registry answers, that takes seconds.
# usage: [BASE=auto|public|local] hack/base.sh
set -eu
cd "$(dirname "$0")/.."

# public_images are the base images, as the Dockerfile names them.
public_images() {
	sed -n 's/^ARG GO_IMAGE=//p' Dockerfile
	version=$(sed -n 's/^ARG GARM_VERSION=//p' Dockerfile)
	sed -n "s/^ARG GARM_IMAGE=\(.*\):.*/\1:$version/p" Dockerfile
}

# available reports whether an image is here, or its registry says that it has it.
available() {
	docker image inspect "$1" >/dev/null 2>&1 || timeout 10 docker manifest inspect "$1" >/dev/null 2>&1
}

base=${BASE:-auto}
if [ "$base" = auto ]; then
	base=public
	for image in $(public_images); do
		available "$image" && continue
		base=local
		echo "$image cannot be pulled: going on with local stand-ins (BASE=public insists, BASE=local does not ask)" >&2
		break
	done
fi
echo "$base"
