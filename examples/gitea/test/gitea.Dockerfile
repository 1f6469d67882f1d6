# Stands in for gitea/gitea:1.24.6-rootless where no image can be pulled, as that image is laid out. gitea.sh lays out the context.
FROM scratch
COPY --chown=0:0 . /
RUN ["/bin/busybox", "--install", "-s", "/bin"]
RUN chown -R 1000:1000 /var/lib/gitea /etc/gitea
ENV GITEA_WORK_DIR=/var/lib/gitea GITEA_CUSTOM=/var/lib/gitea/custom GITEA_TEMP=/tmp/gitea TMPDIR=/tmp/gitea \
    GITEA_APP_INI=/etc/gitea/app.ini HOME=/var/lib/gitea/git PATH=/usr/local/bin:/usr/bin:/bin \
    GITEA__server__STATIC_ROOT_PATH=/app/gitea
USER 1000:1000
VOLUME ["/var/lib/gitea", "/etc/gitea"]
WORKDIR /var/lib/gitea
ENTRYPOINT ["/usr/bin/dumb-init", "--", "/usr/local/bin/docker-entrypoint.sh"]
