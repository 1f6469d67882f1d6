# shellcheck shell=sh
# What go.sh and garm.sh share. Sourced, not run.

die() {
	printf '%s: %s\n' "$0" "$*" >&2
	exit 1
}

need() {
	command -v "$1" >/dev/null || die "cannot find $1: $2"
}

# busybox_static prints the path of a static busybox.
busybox_static() {
	for candidate in /bin/busybox /usr/bin/busybox; do
		[ -x "$candidate" ] || continue
		# A dynamic one would find no libc in the image. ldd fails on a static file; a shell may lack ldd.
		ldd "$candidate" >/dev/null 2>&1 || { printf '%s\n' "$candidate"; return; }
	done
	die "cannot find a static busybox: apt-get install busybox-static"
}

# ca_certificates prints the path of the host's CA bundle.
ca_certificates() {
	for candidate in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
		[ -r "$candidate" ] && { printf '%s\n' "$candidate"; return; }
	done
	die "cannot find the CA certificates: apt-get install ca-certificates"
}

# key hashes what an image is made of: standard input and the named files. Equal keys, equal images.
key() {
	{ cat; cat "$@"; } | sha256sum | cut -c1-12
}

have_image() {
	docker image inspect "$1" >/dev/null 2>&1
}

# quietly runs a command and shows what it printed only when it fails.
quietly() {
	"$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; die "failed, see above: $1"; }
}

# work_dir makes the directory that is removed again when the script ends, and prints nothing: it is left in $work.
work_dir() {
	mkdir -p .build
	work=$(mktemp -d ".build/$1.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM HUP
	work=$PWD/$work
}

# lay_base lays the files that every Unix image has below $work/root.
lay_base() {
	mkdir -p "$work/root/bin" "$work/root/etc/ssl/certs" "$work/root/root" "$work/root/tmp"
	chmod 1777 "$work/root/tmp"
	chmod 0700 "$work/root/root"
	cp "$(busybox_static)" "$work/root/bin/busybox"
	cp "$(ca_certificates)" "$work/root/etc/ssl/certs/ca-certificates.crt"
	printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n' >"$work/root/etc/passwd"
	printf 'root:x:0:\nnobody:x:65534:\n' >"$work/root/etc/group"
}
