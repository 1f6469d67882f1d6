#!/bin/sh
# Makes the files of the two Secrets, with fresh random values: the admin's name, password and e-mail address, and garm's config. They
# are yours from then on: edit them, and keep a copy in a safe place. For an existing database put its own files there instead.
# usage: examples/kubernetes/make-secret.sh [--tls]      --tls: garm serves HTTPS, for overlays/tls
set -eu

case "$*" in
'') use_tls=false ;;
--tls) use_tls=true ;;
*)
	echo "usage: $0 [--tls]" >&2
	exit 64
	;;
esac

umask 077
cd "$(dirname "$0")/base/secret"
# https_lines prints what makes garm serve HTTPS.
https_lines() {
	cat <<'EOT'
[apiserver]
use_tls = true
[apiserver.tls]
certificate = "/run/secrets/garm-tls/tls.crt"
key = "/run/secrets/garm-tls/tls.key"
EOT
}

for file in username password email config.toml; do
	[ -e "$file" ] || continue
	echo "cannot make $PWD/$file: it exists. With a new passphrase an existing database is unreadable: keep these files, or move them away to begin anew" >&2
	if [ "$use_tls" = true ]; then
		echo "to serve HTTPS with these files, nothing need be made: let $PWD/config.toml say this, each section once, and apply overlays/tls" >&2
		https_lines >&2
	fi
	exit 1
done

# random prints that many letters and digits.
random() {
	LC_ALL=C tr -dc 'A-Za-z0-9' </dev/urandom | head -c "$1"
}

# Without a line end: whoever gets them as variables, as garm-operator does, gets them as they are.
printf admin >username
printf admin@localhost >email
random 32 >password
cat >config.toml <<EOT
# garm's configuration. All options: https://github.com/cloudbase/garm/tree/main/doc
# Apply again after a change: garm is then restarted.

[default]
# Let garm install webhooks in the repositories and organizations it manages.
#enable_webhook_management = true

[logging]
# garm says why it ends at level info: above it, a failing start may be silent.
log_level = "info"
log_format = "text"

[jwt_auth]
# Signs the tokens of garm-cli, the web UI and the runners. A new one logs all out.
secret = "$(random 43)"
time_to_live = "24h"

[apiserver]
# "::" where pods have IPv6 addresses.
bind = "0.0.0.0"
port = 9997
# true goes with overlays/tls, and with nothing else here.
use_tls = $use_tls
[apiserver.tls]
certificate = "/run/secrets/garm-tls/tls.crt"
key = "/run/secrets/garm-tls/tls.key"

# The web UI, under /ui/
[apiserver.webui]
enable = true

[database]
backend = "sqlite3"
# Encrypts credentials in the database: exactly 32 characters. NEVER CHANGE IT: garm
# does not start again once credentials were stored with another one.
passphrase = "$(random 32)"
[database.sqlite3]
# In the volume.
db_file = "/etc/garm/garm.db"

# Providers create the machines that runners live on. Their programs are part of the
# image, in /opt/garm/providers.d. A provider's own config can be one more file of
# this Secret: add it to base/kustomization.yaml.
#[[provider]]
#name = "k8s"
#description = "pods in this cluster"
#provider_type = "external"
#[provider.external]
#provider_executable = "/opt/garm/providers.d/garm-provider-k8s"
#config_file = "/run/secrets/garm-config/provider-k8s.yaml"
#environment_variables = ["KUBERNETES_"]
EOT
echo "made username, password, email and config.toml in $PWD" >&2
