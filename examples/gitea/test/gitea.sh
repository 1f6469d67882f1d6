#!/bin/sh
# Makes the image that stands in for gitea/gitea:1.24.6-rootless, unless it is there already, and prints its name: Gitea from its Go module,
# with its own scripts of that image. Its web pages lack their styles, which are not in the module. The first time some minutes.
# usage: examples/gitea/test/gitea.sh
set -eu
cd "$(dirname "$0")/../../.."
. image/standin/lib.sh
need docker "the stand-in images are made by Docker"
need go "Gitea is built from its module"
need gcc "Gitea's sqlite is C: apt-get install gcc libc6-dev"
need curl "the example asks Gitea's API with it: apt-get install curl"
need git "Gitea runs it: apt-get install git"
need envsubst "Gitea's image makes its config with it: apt-get install gettext-base"

module=code.gitea.io/gitea
version=v1.24.6

# build CACHE builds Gitea and the helper of its image.
build() {
	source=$(cd / && GOWORK=off GOFLAGS='' go mod download -json "$module@$version" | sed -n 's/.*"Dir": "\(.*\)",*/\1/p')
	cd "$source"
	export CGO_ENABLED=1 GOWORK=off GOFLAGS=-mod=readonly
	echo "building Gitea $version: some minutes" >&2
	if ! {
		go build -trimpath -tags "sqlite sqlite_unlock_notify" -ldflags '-s -w -linkmode external -extldflags -static' -o "$1/gitea.new" . &&
			go build -trimpath -o "$1/environment-to-ini" ./contrib/environment-to-ini
	} >"$1/log" 2>&1; then
		cat "$1/log" >&2
		return 1
	fi
	cp -R docker/rootless "$1/"
	cp -R templates options public "$1/"
	chmod -R u+w "$1"
	mv "$1/gitea.new" "$1/gitea"
}

# Once per machine, by one process at a time.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/garm-entrypoint-tests/gitea-$version-$(go env GOVERSION)-$(go env GOARCH)
mkdir -p "$cache"
[ "${1:-}" != build ] || { build "$cache"; exit; }
# shellcheck disable=SC2016 # expanded by the inner shell
[ -e "$cache/gitea" ] || flock "$cache.lock" sh -c '[ -e "$1/gitea" ] || exec "$2" build' - "$cache" "$PWD/examples/gitea/test/gitea.sh"

image=garm-entrypoint-standin-gitea:$version-$(key examples/gitea/test/gitea.sh examples/gitea/test/gitea.Dockerfile image/standin/lib.sh </dev/null)
if ! have_image "$image"; then
	work_dir gitea
	lay_base
	root=$work/root
	mkdir -p "$root/app/gitea" "$root/usr/local/bin" "$root/usr/bin" "$root/var/lib/gitea" "$root/etc/gitea" "$root/usr/share"
	cp "$cache/gitea" "$root/app/gitea/"
	cp -R "$cache/templates" "$cache/options" "$cache/public" "$root/app/gitea/"
	cp "$cache/environment-to-ini" "$root/usr/local/bin/"
	cp -R "$cache/rootless/." "$root/"
	chmod 0755 "$root"/usr/local/bin/*
	for program in bash git curl envsubst; do
		cp -L "$(command -v "$program")" "$root/usr/bin/$program"
		for library in $(ldd "$(command -v "$program")" | grep -o '/[^ ]*'); do
			mkdir -p "$root$(dirname "$library")"
			cp -L "$library" "$root$library"
		done
	done
	for program in receive-pack upload-pack upload-archive; do
		ln -s git "$root/usr/bin/git-$program"
	done
	ln -s /usr/bin/bash "$root/bin/bash"
	ln -s /bin/busybox "$root/usr/bin/env"
	printf '#!/bin/sh\nshift\nexec "$@"\n' >"$root/usr/bin/dumb-init"
	chmod 0755 "$root/usr/bin/dumb-init"
	echo 'git:x:1000:1000:git:/var/lib/gitea/git:/bin/bash' >>"$root/etc/passwd"
	echo 'git:x:1000:' >>"$root/etc/group"
	chown 1000:1000 "$root/var/lib/gitea" "$root/etc/gitea"
	quietly docker build -t "$image" -f examples/gitea/test/gitea.Dockerfile "$root"
fi
echo "$image"
