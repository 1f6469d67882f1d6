#!/bin/sh
# Makes what a release consists of in dist/: for each architecture an archive with the binary and what belongs beside it, and the checksums.
# Equal sources, version and Go release give equal bytes, wherever and whenever it runs.
# usage: VERSION=v1.2.3 [SOURCE_DATE_EPOCH=seconds] hack/release.sh
set -eu
cd "$(dirname "$0")/.."
: "${VERSION:?names the release}"

# When the sources were made, not when this runs.
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || echo 0)}"

rm -rf dist
mkdir dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

for arch in amd64 arm64; do
	name=garm-entrypoint_${VERSION}_linux_$arch
	mkdir "$work/$name"
	GOOS=linux GOARCH=$arch GOAMD64=v1 GOARM64=v8.0 make --no-print-directory build VERSION="$VERSION" OUT="$work/$name/garm-entrypoint" >/dev/null
	cp LICENSE README.md CHANGELOG.md examples/systemd/garm.service "$work/$name/"
	mkdir "$work/$name/docs"
	cp docs/*.md "$work/$name/docs/"
	chmod 0755 "$work/$name" "$work/$name/docs" "$work/$name/garm-entrypoint"
	chmod 0644 "$work/$name"/*.* "$work/$name/LICENSE" "$work/$name/docs"/*
	tar -C "$work" --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf "$work/$name.tar" "$name"
	gzip -n9 <"$work/$name.tar" >"dist/$name.tar.gz" # no pipe, in which a tar that fails goes unseen
done
(cd dist && sha256sum -- *.tar.gz >SHA256SUMS)
cat dist/SHA256SUMS
