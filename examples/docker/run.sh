#!/bin/sh
# garm by plain docker run, initialised at its first start.
#
#   examples/docker/run.sh
#   docker logs -f garm                             what it is doing, and when it is ready
#   docker exec garm cat /etc/garm/admin-password   the password of the user admin
#   docker stop garm                                may take a while when runners are being created
#
# Everything garm keeps is in the volume: its config, its database, the password. Removing the container loses nothing.
set -eu

NAME=${NAME:-garm}

# --stop-timeout: garm may need more than a minute to finish what it is doing with a cloud, and being killed meanwhile leaves instances
# behind there. Where runners on other machines must reach garm, publish 9997 alone, and add --env GARM_BASE_URL=http://this-host:9997
docker run --detach \
	--name "$NAME" \
	--restart unless-stopped \
	--stop-timeout 150 \
	--volume "$NAME:/etc/garm" \
	--publish "${PUBLISH:-127.0.0.1:9997}:9997" \
	"${IMAGE:-garm-entrypoint:local}"
