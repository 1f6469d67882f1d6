#!/bin/sh
# Stops and removes the container of make run. Its volume stays.
# usage: NAME=container hack/stop.sh
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=hack/lib.sh
. hack/lib.sh
: "${NAME:?names the container}"

if [ -z "$(state "$NAME")" ]; then
	echo "there is no container $NAME"
	exit 0
fi
must_be_ours "$NAME"
docker container stop "$NAME" >/dev/null
docker container rm "$NAME" >/dev/null
echo "stopped. The data stays in the volume $NAME; to delete it: docker volume rm $NAME"
