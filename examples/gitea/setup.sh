#!/bin/sh
# Starts the Gitea of docker-compose.yml beside this file, and makes what garm needs of it. What is there already is left alone.
#
#   secrets/gitea-admin-password   of Gitea's admin, whose name is root
#   secrets/gitea-token            garm's: it may manage runners and webhooks
#   secrets/garm-password          of garm's admin, whose name is admin
#   secrets/config.toml            garm's config, with fresh secrets and the provider
#
# A new token after the old one was lost or leaked: remove secrets/gitea-token, and run this again. garm takes it without a restart.
set -eu
cd "$(dirname "$0")"
# shellcheck source=examples/gitea/lib.sh
. ./lib.sh
umask 077
mkdir -p secrets

secret() {
	LC_ALL=C tr -dc A-Za-z0-9 </dev/urandom | head -c "$1"
}

# keep NAME writes standard input to a secret's file in one step, so that garm never reads half of one.
keep() {
	cat >"secrets/.$1.new"
	[ -s "secrets/.$1.new" ] || { rm "secrets/.$1.new"; die "cannot make secrets/$1: see above"; }
	mv "secrets/.$1.new" "secrets/$1"
	echo "made secrets/$1"
}

[ -e secrets/garm-password ] || secret 24 | keep garm-password
[ -e secrets/gitea-admin-password ] || secret 24 | keep gitea-admin-password
[ -e secrets/config.toml ] || sed -e "s/@JWT@/$(secret 43)/" -e "s/@PASSPHRASE@/$(secret 32)/" config.toml.in | keep config.toml

compose up -d gitea
wait_for "Gitea" gitea admin user list

password=$(cat secrets/gitea-admin-password)
gitea admin user list | grep -qw root ||
	gitea admin user create --admin --username root --email root@localhost --password "$password" --must-change-password=false

# A token's name is unique, and its value is shown once.
[ -e secrets/gitea-token ] ||
	gitea admin user generate-access-token --username root --token-name "garm-$(secret 8)" --raw \
		--scopes write:repository,write:organization,write:admin | tr -d '\r' | keep gitea-token

gitea_api GET /orgs/acme >/dev/null || gitea_api POST /orgs '{"username": "acme"}' >/dev/null
gitea_api GET /repos/acme/hello >/dev/null || {
	gitea_api POST /orgs/acme/repos '{"name": "hello", "auto_init": true, "default_branch": "main"}' >/dev/null
	echo "made the repository acme/hello"
}
