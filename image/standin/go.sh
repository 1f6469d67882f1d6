#!/bin/sh
# Makes the image that stands in for the Go toolchain image, unless it is there already, and prints its name.
# usage: image/standin/go.sh
set -eu
cd "$(dirname "$0")/../.."
. image/standin/lib.sh
need docker "the stand-in images are made by Docker"
need go "the stand-in for the Go image is the host's toolchain"

# The modules that packages of ours are made of, for both architectures that the image is built for.
list_modules() {
	for arch in amd64 arm64; do
		CGO_ENABLED=0 GOOS=linux GOARCH=$arch \
			go list -deps -f '{{with .Module}}{{.Path}} {{.Version}}{{end}}' ./entrypoint ./examples/provider/docker "$@" || return
	done
}

# Dockerfile builds these first.
warm='github.com/BurntSushi/toml github.com/cloudbase/garm/client github.com/cloudbase/garm-provider-common/util golang.org/x/sync/errgroup'

busybox=$(busybox_static)
# shellcheck disable=SC2086 # a list of words
modules=$(list_modules $warm)
image=garm-entrypoint-standin-go:$({ go version; echo "$modules"; } |
	key go.mod go.sum image/standin/go.sh image/standin/lib.sh image/standin/go.Dockerfile "$busybox")

if ! have_image "$image"; then
	echo "making $image from the Go toolchain in $(go env GOROOT)" >&2
	work_dir go
	lay_base

	# A throw-away module cache, filled from the host's own: what it downloads is what our build needs.
	proxy=file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)
	# shellcheck disable=SC2086 # a list of words
	GOMODCACHE=$work/mod GOPROXY=$proxy GOFLAGS=-modcacherw GOSUMDB=off quietly list_modules $warm
	mv "$work/mod/cache/download" "$work/root/modules"

	# The toolchain without its tests and its own source: a third of the size.
	mkdir -p "$work/root/usr/local/go"
	tar -C "$(go env GOROOT)" -cf - --exclude='testdata' --exclude='*_test.go' --exclude='src/cmd' \
		VERSION go.env bin/go pkg/include pkg/tool src | tar -C "$work/root/usr/local/go" -xf -

	quietly docker build -t "$image" -f image/standin/go.Dockerfile "$work/root"
fi
echo "$image"
