# The garm server image whose entrypoint initialises garm.
#
#   docker build -t garm-entrypoint:local .                       the image
#   docker build -t garm-entrypoint:binary --target binary .      the binary alone, for your own garm image:
#                                                                 COPY --from=garm-entrypoint:binary /garm-entrypoint /usr/local/bin/
#
# It builds with the classic builder and with BuildKit. The classic one knows no cache mounts, no HEALTHCHECK --start-interval and no
# automatic platform arguments, hence the defaults below; for a foreign architecture it needs --build-arg TARGETARCH beside --platform.

# GARM_VERSION equals go.mod's pin, and the toolchain fits its go line: image/pins_test.go fails when they differ.
ARG GARM_VERSION=v0.2.1
ARG GARM_IMAGE=ghcr.io/cloudbase/garm:${GARM_VERSION}
ARG GO_IMAGE=docker.io/library/golang:1.26-alpine

# BuildKit fills BUILDPLATFORM. The classic builder leaves it empty and rejects an empty --platform; "linux" means the engine's own
# architecture there. A name of our own, because a default for BUILDPLATFORM itself would win over BuildKit's value in some releases.
ARG TOOLCHAIN_PLATFORM=${BUILDPLATFORM:-linux}


FROM --platform=${TOOLCHAIN_PLATFORM} ${GO_IMAGE} AS build
# By this label make clean finds what the classic builder leaves of the stages.
LABEL garm-entrypoint.stage=build
WORKDIR /src

# Filled by BuildKit; empty means the toolchain's own architecture, for go as for the classic builder.
ARG TARGETARCH
ENV CGO_ENABLED=0 GOOS=linux GOARCH=${TARGETARCH}

# The dependencies in a layer of their own, so that a change of our code neither downloads nor compiles them again. A package missing in
# this list costs time, nothing else.
COPY go.mod go.sum ./
RUN go build -trimpath \
      github.com/BurntSushi/toml \
      github.com/cloudbase/garm/client \
      github.com/cloudbase/garm-provider-common/util \
      golang.org/x/sync/errgroup

COPY . .
ARG VERSION=dev
RUN go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=${VERSION}" -o /out/garm-entrypoint ./entrypoint

# A fresh named volume copies owner and mode of this directory. It serves root (with no capabilities too: group 0), any uid in group 0
# (what engines and OpenShift give an arbitrary uid), and the customary non-root user 65532.
RUN mkdir -p /out/etc/garm && chown 65532:0 /out/etc/garm && chmod 0775 /out/etc/garm


FROM scratch AS binary
LABEL garm-entrypoint.stage=binary
COPY --from=build /out/garm-entrypoint /garm-entrypoint


# The default image. Nothing runs in this stage: garm images up to v0.1.4 have no shell, and a foreign architecture needs no emulation.
# No USER and no VOLUME, as upstream: the volumes people already have belong to root.
FROM ${GARM_IMAGE}
COPY --from=build /out/etc/ /etc/
COPY --from=build /out/garm-entrypoint /usr/local/bin/garm-entrypoint

EXPOSE 9997
STOPSIGNAL SIGTERM

# The start period covers GARM_START_TIMEOUT (5 minutes); a check that succeeds in it counts at once. Each check is a line in garm's access
# log, so the interval is no shorter than needed.
HEALTHCHECK --interval=30s --timeout=5s --start-period=330s --retries=3 CMD ["/usr/local/bin/garm-entrypoint", "healthcheck"]

ENTRYPOINT ["/usr/local/bin/garm-entrypoint"]

ARG GARM_VERSION
ARG GARM_IMAGE
ARG VERSION=dev
ARG REVISION=unknown
# Where this project is published: make image takes it from the git remote.
ARG SOURCE_URL=
LABEL org.opencontainers.image.title="garm-entrypoint" \
      org.opencontainers.image.description="garm, the self-hosted runner manager, initialised by its entrypoint" \
      org.opencontainers.image.source="${SOURCE_URL}" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${GARM_IMAGE}" \
      garm.version="${GARM_VERSION}"
