#!/bin/sh
# Runs the README's two commands on a bare machine: a Debian made for it, with Go, a C compiler, make and git, the engine of this machine, and
# nothing of hack/packages. It tells how long each took, and leaves nothing behind. Needs root and debootstrap.
# usage: hack/bare.sh [MAKE TARGET...]      (run, stop and test when none is named)
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=hack/lib.sh
. hack/lib.sh
[ "$(id -u)" = 0 ] || die "cannot make another Debian: root is needed"
command -v debootstrap >/dev/null || die "cannot make another Debian: apt-get install debootstrap"
[ $# -gt 0 ] || set -- run stop test

# The engine sees this machine's paths: what it is to mount must have the same name inside and outside.
work=$(mktemp -d /var/tmp/garm-entrypoint-bare.XXXXXX)
root=$work/root
mounted=
clean() {
	for at in $mounted; do umount -l "$root$at" || true; done
	docker rm -f bare-machine >/dev/null 2>&1 || true
	docker volume rm bare-machine >/dev/null 2>&1 || true
	rm -rf --one-file-system "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM HUP

bind() {
	mkdir -p "$root$2"
	mount "$3" "$1" "$root$2"
	mounted="$2 $mounted"
}

echo "making a bare Debian" >&2
. /etc/os-release
# shellcheck disable=SC2016 # apt fills it in
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | head -n 1)
debootstrap --variant=minbase --include=ca-certificates,git,gcc,libc6-dev,make "$VERSION_CODENAME" "$root" "$mirror" >"$work/log" 2>&1 || {
	tail -n 20 "$work/log" >&2
	die "cannot make a bare Debian"
}
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp -a /etc/apt/. "$root/etc/apt/"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
mkdir -p "$work/home" "$work/tmp"
chmod 1777 "$work/tmp"
git clone -q . "$work/repo"
for dir in home tmp repo; do bind "$work/$dir" "$work/$dir" --bind; done
for dir in /proc /sys /dev; do bind $dir $dir --rbind; done
bind "$(go env GOROOT)" /usr/local/go --bind
mkdir -p "$root/run" "$root/usr/local/bin"
cp "$(command -v docker)" "$root/usr/local/bin/docker"
touch "$root/run/docker.sock"
mount --bind /run/docker.sock "$root/run/docker.sock"
mounted="/run/docker.sock $mounted"

for target in "$@"; do
	began=$(date +%s)
	echo "== make $target, on a bare machine" >&2
	chroot "$root" env -i HOME="$work/home" TMPDIR="$work/tmp" PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		GOPROXY="$(go env GOPROXY)" GOSUMDB="$(go env GOSUMDB)" GOFLAGS="$(go env GOFLAGS)" \
		make -C "$work/repo" --no-print-directory "$target" NAME=bare-machine IMAGE=garm-entrypoint:bare PUBLISH=127.0.0.1:0 </dev/null
	echo "== make $target took $(($(date +%s) - began)) s, exit code 0" >&2
done
