#!/bin/sh
# Runs garm without Docker, in a temporary directory that is removed at the end. Ctrl-C ends it.
# usage: hack/run-local.sh path/of/garm-entrypoint
set -eu
entrypoint=${1:?usage: hack/run-local.sh path/of/garm-entrypoint}

case $entrypoint in
/*) ;;
*) entrypoint=$PWD/$entrypoint ;;
esac
cd "$(dirname "$0")/.."

module=github.com/cloudbase/garm
version=$(go list -m -f '{{.Version}}' "$module")
dir=$(mktemp -d)
pid=
signalled=
trap 'rm -rf "$dir"' EXIT
# A child in the background ignores Ctrl-C: it is told by SIGTERM, which comes through either way.
trap 'signalled=yes; [ -n "$pid" ] || exit 130; kill -TERM "$pid" 2>/dev/null || true' INT TERM HUP

echo "building garm $version (the first time takes a minute or two; no web UI: its assets are not in the Go module)"
go build -tags osusergo,netgo,sqlite_omit_load_extension -ldflags "-X $module/util/appdefaults.Version=$version" -o "$dir/bin/" "$module/cmd/garm" "$module/cmd/garm-cli"

# Without URLs a new garm answers little.
[ -n "${GARM_BASE_URL:-}${GARM_METADATA_URL:-}" ] || export GARM_BASE_URL=http://127.0.0.1:9997

# HOME: garm-cli's profile goes there, and not over the user's own.
PATH=$dir/bin:$PATH HOME=$dir GARM_CONFIG=$dir/config.toml "$entrypoint" run &
pid=$!

until GARM_CONFIG=$dir/config.toml "$entrypoint" healthcheck >/dev/null 2>&1; do
	kill -0 "$pid" 2>/dev/null || break
	sleep 0.2
done

if kill -0 "$pid" 2>/dev/null; then
	password="cat $dir/admin-password"
	[ -z "${GARM_PASSWORD:-}${GARM_PASSWORD_FILE:-}" ] || password="the one given in GARM_PASSWORD or GARM_PASSWORD_FILE"
	cat <<-EOT || true # Ctrl-C while it prints ends it, and not us

		garm is ready.
		  URL       http://127.0.0.1:9997
		  user      ${GARM_USERNAME:-admin}
		  password  $password
		  garm-cli  HOME=$dir $dir/bin/garm-cli
		  stop      Ctrl-C (everything in $dir is deleted)

	EOT
fi

# A signal ends wait early, with the signal for a status: garm's own is what the next wait says, also of a garm that is gone by then. 127
# is wait's word for a child whose status it has told already.
status=0
wait "$pid" || status=$?
while [ -n "$signalled" ]; do
	signalled=
	again=0
	wait "$pid" || again=$?
	[ "$again" = 127 ] || status=$again
done
exit "$status"
