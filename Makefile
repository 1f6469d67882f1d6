# What each target does: make help. Docker is all that run, image and stop need; BASE=local and the other targets need Go.

IMAGE   ?= garm-entrypoint:local
NAME    ?= garm
PUBLISH ?= 127.0.0.1:9997

# Where the base images come from: public ones where they can be pulled, else local stand-ins. public insists, local does not ask.
BASE ?= auto

# What is told at the end is counted from here.
BEGAN := $(shell date +%s)

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
REVISION := $(shell git rev-parse --verify --quiet HEAD 2>/dev/null || echo unknown)
SOURCE   := $(shell git remote get-url origin 2>/dev/null | grep '^https://' || true)
LDFLAGS   = -s -w -X main.version=$(VERSION)
OUT      ?= bin/garm-entrypoint

# Writes the list of what the binary is made of. Not a tool of go.mod, whose modules would then be ours too.
SBOM_TOOL = github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0

# The tests of examples/kubernetes are a module of their own: Kubernetes's types are heavy, and nothing else needs them.
KUBE := examples/kubernetes/test

# So is a node of a real Kubernetes.
NODE := hack/cluster

# So is the stand-in for Gitea's runner.
FORGE := examples/gitea/test

ifeq ($(filter $(BASE),auto public local),)
$(error BASE is "$(BASE)": it must be auto, public or local)
endif

.DEFAULT_GOAL := help
.PHONY: help run run-local stop image build sbom release test test-image test-kubernetes test-bare test-cluster test-forge test-short test-versions test-chaos bench lint clean

help: ## shows this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  BASE=local      base images are made here, also where they could be pulled (no web UI there); BASE=public insists on those"
	@echo "  IMAGE=$(IMAGE)  NAME=$(NAME)  PUBLISH=$(PUBLISH)"

run: image ## builds the image and runs a container until garm is ready to log in
	@IMAGE=$(IMAGE) NAME=$(NAME) PUBLISH=$(PUBLISH) BEGAN=$(BEGAN) hack/run.sh

run-local: build ## the same without Docker, in a temporary directory, until Ctrl-C
	@hack/run-local.sh bin/garm-entrypoint

stop: ## stops and removes the container of make run; its volume stays
	@NAME=$(NAME) hack/stop.sh

image: ## builds the image
	@IMAGE=$(IMAGE) BASE=$(BASE) VERSION=$(VERSION) REVISION=$(REVISION) SOURCE_URL=$(SOURCE) hack/image.sh

build: ## builds bin/garm-entrypoint, static
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "$(LDFLAGS)" -o $(OUT) ./entrypoint

sbom: build ## writes the binary's SBOM, dist/garm-entrypoint.cdx.json (CycloneDX)
	@mkdir -p dist
	go run $(SBOM_TOOL) bin -json -std -noserial -version $(VERSION) -output dist/garm-entrypoint.cdx.json $(OUT)

release: ## makes archives and checksums for amd64 and arm64 in dist/
	@VERSION=$(VERSION) hack/release.sh

# hack/packages lists what the tests need of the system. The first run builds garm, the stand-in images and Kubernetes's types: minutes.
# The race detector is for what runs side by side in our own programs; what the tests of image and Kubernetes exercise is a container,
# so these do without, side by side.
UNRACED := ./image/... ./docs/...

test: ## runs all tests; the image's need Docker; installs what they need when it may
	@hack/need.sh test
	@docker info >/dev/null 2>&1 || echo "no Docker Engine answers: the tests of the image are SKIPPED (with CI=true they fail)"
	go test -race -timeout 30m $$(go list ./... | grep -vxF -e "$$(go list $(UNRACED))")
	go test -run Orphans ./supervisor
	@$(MAKE) --no-print-directory -j2 --output-sync=target test-image test-kubernetes
	@echo "all tests passed, $$(($$(date +%s) - $(BEGAN))) s"

test-image: ## runs the tests of the built image and of the documents
	go test -timeout 30m $(UNRACED)

test-kubernetes: ## runs the tests of examples/kubernetes
	go -C $(KUBE) test -timeout 20m ./...

test-bare: ## runs make run and make test where none of hack/packages is installed, on a Debian made for it
	hack/bare.sh

# What the node is made of is built once per machine, some ten minutes, and kept in ~/.cache/garm-entrypoint. As root, with Docker.
test-cluster: ## applies examples/kubernetes on one node of a real Kubernetes, in namespaces of its own
	@hack/cluster/test.sh

# Gitea is built from its module once per machine, some seven minutes, and kept in ~/.cache/garm-entrypoint-tests.
test-forge: ## takes examples/gitea the whole way: a Gitea, runners that are containers, jobs that run
	@hack/need.sh test forge
	go -C $(FORGE) test -v -timeout 60m ./...

test-short: ## runs the tests that need neither Docker nor a garm server
	go test -race -short ./...
	go -C $(KUBE) test -short ./...

# The garms are built once per machine: some minutes.
test-versions: ## runs the tests that need a real garm against v0.1.4, v0.1.5, v0.1.8 and v0.2.1 (the first time some minutes)
	GARM_ENTRYPOINT_VERSIONS=all go test -race -timeout 30m -run "TestVersions|TestCredentialsOfConfig" ./entrypoint ./entrypoint/provision

# Needs gcc; compares with what is installed of tini, dumb-init and catatonit. About 4 minutes, on a machine with nothing else to do.
bench: build ## measures us beside other inits and beside garm alone, and prints tables
	go run ./internal/bench -entrypoint bin/garm-entrypoint

test-chaos: ## kills first boots and applies 300 times each at random, and lets an attacker at 200 boots (some 20 minutes)
	GARM_ENTRYPOINT_CHAOS=300 GARM_ENTRYPOINT_BOOTS=200 go test -timeout 60m -v -run 'TestChaos|TestGuardedCannotBeStolen' ./entrypoint ./entrypoint/provision

lint: ## gofmt, go vet, staticcheck, and shellcheck where it is installed
	@unformatted=$$(gofmt -l .) && test -z "$$unformatted" || { echo "not formatted by gofmt: $$unformatted"; exit 1; }
	go vet ./...
	go tool staticcheck ./...
	go -C $(KUBE) vet ./...
	go -C $(NODE) vet ./...
	go -C $(FORGE) vet ./...
	@staticcheck=$$(go tool -n staticcheck) && for module in $(KUBE) $(NODE) $(FORGE); do \
		echo "staticcheck ./... in $$module" && (cd "$$module" && "$$staticcheck" ./...) || exit 1; done
	@if command -v shellcheck >/dev/null; then shellcheck -x $$(git ls-files '*.sh') examples/provider/garm-provider-example .ci/run; else echo "shellcheck is not installed: skipped"; fi

clean: ## removes what was built, the stand-in images and the builder's leftovers too; never a volume
	rm -rf bin dist .build
	@docker image ls --format '{{.Repository}}:{{.Tag}}' --filter 'reference=garm-entrypoint-standin-*' 2>/dev/null | xargs -r docker image rm -f >/dev/null
	@docker image prune -f --filter label=garm-entrypoint.stage >/dev/null 2>&1 || true
