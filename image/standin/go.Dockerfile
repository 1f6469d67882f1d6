# Stands in for docker.io/library/golang where no image can be pulled: the host's Go toolchain, busybox for a shell, and the modules that
# our build needs as a file:// module proxy. go.sh lays out the context.
FROM scratch
COPY . /
RUN ["/bin/busybox", "--install", "-s", "/bin"]
ENV PATH=/usr/local/go/bin:/bin HOME=/root \
    GOPATH=/go GOTOOLCHAIN=local GOPROXY=file:///modules GOSUMDB=off
