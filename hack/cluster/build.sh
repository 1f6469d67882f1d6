#!/bin/bash
# Builds what one node of Kubernetes is made of from its Go modules, once per machine and version, and prints the directory it is in.
# usage: hack/cluster/build.sh
set -euo pipefail
cd "$(dirname "$0")"

kubernetes=$(go -C kubernetes list -m -f '{{.Version}}' k8s.io/kubernetes)
coredns=$(go -C coredns list -m -f '{{.Version}}' github.com/coredns/coredns)
out=${XDG_CACHE_HOME:-$HOME/.cache}/garm-entrypoint/kubernetes-$kubernetes-coredns-$coredns-$(cksum <coredns/main.go | tr ' ' -)
mkdir -p "$out"

# Two at a time would build everything twice.
exec 9>"$out/.lock"
flock 9

export CGO_ENABLED=0
began=$SECONDS

# build makes one program, unless it is there: build MODULE PACKAGE LDFLAGS
build() {
	local program=$out/${2##*/}
	[ ! -e "$program" ] || return 0
	echo "building ${2##*/} ..." >&2
	go -C "$1" build -trimpath -ldflags "-s -w $3" -o "$program.new" "$2"
	mv "$program.new" "$program"
	echo "built ${2##*/} (${SECONDS}s)" >&2
}

stamp="-X k8s.io/component-base/version.gitVersion=$kubernetes -X k8s.io/client-go/pkg/version.gitVersion=$kubernetes"
for program in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl; do
	build kubernetes "k8s.io/kubernetes/cmd/$program" "$stamp"
done
build coredns garm-entrypoint/hack/cluster/coredns ""
[ "$SECONDS" = "$began" ] || echo "the node's programs took $((SECONDS - began)) s to build" >&2
echo "$out"
