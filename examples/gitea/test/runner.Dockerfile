# Stands in for gitea/act_runner where no image can be pulled. runner.sh lays out the context.
FROM scratch
COPY . /
RUN ["/bin/busybox", "--install", "-s", "/bin"]
ENV PATH=/bin
ENTRYPOINT ["/bin/act_runner"]
