#!/bin/sh
# Makes the image that stands in for docker.io/library/nginx, unless it is there already, and prints its name. It is Debian's nginx: an
# installed one, else the one in its package, which is not installed for that (it would start a server).
# usage: image/standin/nginx.sh
set -eu
cd "$(dirname "$0")/../.."
. image/standin/lib.sh
need docker "the stand-in images are made by Docker"
need ldd "nginx is copied with its libraries"

work_dir nginx
nginx=$(command -v nginx || true)
if [ -z "$nginx" ]; then
	need apt-get "there is no nginx here to make an image of"
	(cd "$work" && quietly apt-get -q download nginx && dpkg-deb --extract nginx_*.deb package)
	nginx=$work/package/usr/sbin/nginx
fi
image=garm-entrypoint-standin-nginx:$(key image/standin/nginx.sh image/standin/lib.sh image/standin/nginx.Dockerfile "$nginx" </dev/null)

if ! have_image "$image"; then
	lay_base
	mkdir -p "$work/root/usr/sbin" "$work/root/etc/nginx" "$work/root/run" "$work/root/var/lib/nginx" "$work/root/var/log/nginx"
	cp "$nginx" "$work/root/usr/sbin/nginx"
	echo 'nogroup:x:65533:' >>"$work/root/etc/group" # Debian's nginx runs its workers in it
	! ldd "$nginx" | grep 'not found' >&2 || die "cannot find nginx's libraries: apt-get install libcrypt1 libpcre2-8-0 libssl3 zlib1g"
	for library in $(ldd "$nginx" | grep -o '/[^ ]*'); do
		mkdir -p "$work/root$(dirname "$library")"
		cp -L "$library" "$work/root$library"
	done
	quietly docker build -t "$image" -f image/standin/nginx.Dockerfile "$work/root"
fi
echo "$image"
