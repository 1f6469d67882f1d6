#!/bin/sh
# Makes what docker-compose.yml beside this file needs, and leaves alone what is there already:
#
#   tls.crt, tls.key   a self-signed certificate for $NAMES: put your own in its place
#   config.toml        garm's config, with fresh secrets
#
#   NAMES=DNS:garm.example.com ./setup.sh
set -eu
cd "$(dirname "$0")"
umask 077

NAMES=${NAMES:-DNS:localhost,IP:127.0.0.1}

if [ ! -e tls.crt ] && [ ! -e tls.key ]; then
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj /CN=garm \
		-addext "subjectAltName=$NAMES" -keyout tls.key -out tls.crt 2>openssl.log || {
		cat openssl.log >&2
		rm -f openssl.log tls.key tls.crt
		exit 1
	}
	rm -f openssl.log
	echo "made tls.crt for $NAMES"
fi

secret() {
	LC_ALL=C tr -dc A-Za-z0-9 </dev/urandom | head -c "$1"
}

if [ ! -e config.toml ]; then
	cat >config.toml <<-EOT
		# Keep this file together with the database: without the passphrase nobody can read the credentials in it.
		[default]
		enable_webhook_management = true

		[logging]
		log_level = "info"

		[jwt_auth]
		secret = "$(secret 43)"
		time_to_live = "24h"

		[apiserver]
		bind = "0.0.0.0"
		port = 9997
		use_tls = true
		[apiserver.tls]
		certificate = "/run/secrets/garm-tls-crt"    # the whole chain
		key = "/run/secrets/garm-tls-key"
		[apiserver.webui]
		enable = true

		[database]
		backend = "sqlite3"
		passphrase = "$(secret 32)"                  # exactly 32 characters; never change it
		[database.sqlite3]
		db_file = "/var/lib/garm/garm.db"
	EOT
	echo "made config.toml"
fi
