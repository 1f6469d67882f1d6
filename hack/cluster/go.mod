// One node of Kubernetes, and what is seen of examples/kubernetes there. A module of its own: nothing of it is ours to ship.
module garm-entrypoint/hack/cluster

go 1.26.2
