#!/bin/sh
# Makes config.toml for docker-compose.yml beside this file, with fresh secrets, and leaves alone one that is there already.
set -eu
cd "$(dirname "$0")"
umask 077

secret() {
	LC_ALL=C tr -dc A-Za-z0-9 </dev/urandom | head -c "$1"
}

[ ! -e config.toml ] || exit 0
cat >config.toml <<EOT
# Keep this file together with the database: without the passphrase nobody can read the credentials in it.
[default]
# For webhook = "install" in provision.d
enable_webhook_management = true

[logging]
log_level = "info"

[jwt_auth]
secret = "$(secret 43)"
time_to_live = "24h"

[apiserver]
bind = "0.0.0.0"
port = 9997
use_tls = false
[apiserver.webui]
enable = true

[database]
backend = "sqlite3"
passphrase = "$(secret 32)"                  # exactly 32 characters; never change it
[database.sqlite3]
db_file = "/etc/garm/garm.db"

[[provider]]
name = "example"
description = "machines that are files"
provider_type = "external"
[provider.external]
provider_executable = "/opt/garm/providers.d/example/garm-provider-example"
config_file = "/opt/garm/providers.d/example/provider.conf"
environment_variables = ["PATH"]
EOT
echo "made config.toml"
