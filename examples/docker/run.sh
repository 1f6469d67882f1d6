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
# behind there. GARM_BASE_URL is where runners and the forge reach this server: localhost does for a look around. For runners on other
# machines give the address that they see, such as GARM_BASE_URL=http://garm.example.com:9997, and PUBLISH=0.0.0.0:9997.
docker run --detach \
	--name "$NAME" \
	--restart unless-stopped \
	--stop-timeout 150 \
	--volume "$NAME:/etc/garm" \
	--publish "${PUBLISH:-127.0.0.1:9997}:9997" \
	--env GARM_BASE_URL="${GARM_BASE_URL:-http://localhost:9997}" \
	"${IMAGE:-garm-entrypoint:local}"
