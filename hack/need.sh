#!/bin/sh
# Makes sure, before anything is built, that what a command of the README needs is there: hack/packages lists it. As root on Debian it is
# installed; elsewhere all that is missing is named at once, with the one line to type.
# usage: hack/need.sh run|test|lint...
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=hack/lib.sh
. hack/lib.sh

# wanted prints the lines of the list that are for one of the commands.
wanted() {
	for use in "$@"; do
		awk -v use="$use" '!/^#/ && NF && index("," $2 ",", "," use ",")' hack/packages
	done | sort -u
}

# there reports whether a package is installed, or what it brings came another way.
there() {
	case $1 in
	docker-compose) ! docker compose version >/dev/null 2>&1 || return 0 ;;
	busybox-static) ! static_busybox || return 0 ;;
	esac
	if command -v dpkg-query >/dev/null; then
		[ "$(dpkg-query --show --showformat '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] && return
	fi
	case $2 in
	-) ! command -v dpkg-query >/dev/null ;; # on another system nobody can tell, and what needs it will
	/*) [ -e "$2" ] ;;
	*) command -v "$2" >/dev/null && [ "$1" != busybox-static ] ;;
	esac
}

# static_busybox: a dynamic one, such as Debian's package busybox, would find no libc in an image.
static_busybox() {
	busybox=$(command -v busybox) && ! ldd "$busybox" >/dev/null 2>&1
}

missing=$(wanted "$@" | while read -r package _ brings _; do
	there "$package" "$brings" || printf '%s ' "$package"
done)
missing=${missing% }

others=
command -v go >/dev/null || others="Go $(sed -n 's/^go //p' go.mod) or later (https://go.dev/dl)"
docker info >/dev/null 2>&1 || {
	# Without an engine the tests that need one are skipped, but not in CI.
	case " $* ${CI:-} " in
	*" run "* | *" true "*) others="${others:+$others, and }a Docker Engine that answers" ;;
	esac
}
[ -z "$others" ] || die "cannot go on without $others${missing:+; then, as root: apt-get install $missing}"

[ -n "$missing" ] || exit 0
install="apt-get install -y --no-install-recommends $missing"
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	die "cannot go on without what Debian calls: $missing
as root, type: $install"
fi
echo "installing: $missing" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # a list of words
{ apt-get update && $install; } >"$log" 2>&1 </dev/null || {
	cat "$log" >&2
	die "cannot install $missing: see above"
}
