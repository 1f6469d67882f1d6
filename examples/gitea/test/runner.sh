#!/bin/sh
# Makes the image that stands in for gitea/act_runner, unless it is there already, and prints its name.
# usage: examples/gitea/test/runner.sh
set -eu
cd "$(dirname "$0")/../../.."
. image/standin/lib.sh
need docker "the stand-in images are made by Docker"
need go "the runner is built here"

work_dir runner
lay_base
CGO_ENABLED=0 go -C examples/gitea/test build -trimpath -o "$work/root/bin/act_runner" ./act_runner
image=garm-entrypoint-standin-runner:$(key examples/gitea/test/runner.Dockerfile "$work/root/bin/act_runner" </dev/null)
have_image "$image" || quietly docker build -t "$image" -f examples/gitea/test/runner.Dockerfile "$work/root"
echo "$image"
