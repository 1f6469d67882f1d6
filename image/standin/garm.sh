#!/bin/sh
# Makes the image that stands in for upstream's garm image, unless it is there already, and prints its name.
# usage: image/standin/garm.sh
set -eu
cd "$(dirname "$0")/../.."
. image/standin/lib.sh
need docker "the stand-in images are made by Docker"
need go "garm is built from go.mod's pin"
need gcc "garm's sqlite is C: hack/need.sh run"

module=github.com/cloudbase/garm
version=$(go list -m -f '{{.Version}}' "$module")
busybox=$(busybox_static)
image=garm-entrypoint-standin-garm:$version-$(go version |
	key go.mod go.sum image/standin/garm.sh image/standin/lib.sh image/standin/garm.Dockerfile "$busybox")

if ! have_image "$image"; then
	echo "making $image from garm $version (a minute or two; no web UI: its assets are not in the Go module)" >&2
	work_dir garm
	lay_base
	mkdir -p "$work/root/opt/garm/providers.d"

	# Upstream's own tags and flags. Without a version garm-operator refuses the server.
	CGO_ENABLED=1 go build -tags osusergo,netgo,sqlite_omit_load_extension \
		-ldflags "-s -w -linkmode external -extldflags '-static' -X $module/util/appdefaults.Version=$version" \
		-o "$work/root/bin/" "$module/cmd/garm" "$module/cmd/garm-cli"

	quietly docker build -t "$image" -f image/standin/garm.Dockerfile "$work/root"
fi
echo "$image"
