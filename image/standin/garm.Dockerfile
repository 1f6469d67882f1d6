# Stands in for ghcr.io/cloudbase/garm where no image can be pulled: laid out as upstream's image (busybox, static garm and garm-cli in /bin,
# CA certificates, providers directory), without the web UI and without providers. garm.sh lays out the context.
FROM scratch
COPY . /
RUN ["/bin/busybox", "--install", "-s", "/bin"]
ENTRYPOINT ["/bin/garm", "-config", "/etc/garm/config.toml"]
