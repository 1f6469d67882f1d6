# Stands in for docker.io/library/nginx where no image can be pulled: Debian's nginx, started as that image starts its own. nginx.sh lays
# out the context.
FROM scratch
COPY . /
RUN ["/bin/busybox", "--install", "-s", "/bin"]
STOPSIGNAL SIGQUIT
CMD ["/usr/sbin/nginx", "-g", "daemon off;"]
