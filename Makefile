# Each target calls one or a few commands that can be typed as well. CONTRIBUTING.md
# tells how they belong together.

VERSION    := $(shell git describe --tags --always --dirty 2>/dev/null)
LISTEN     ?= 127.0.0.1:8080
TESTFLAGS  ?=
FUZZTIME   ?= 30s
OBJECTS    ?= 200000
OPERATIONS ?= 10000000
TOOL       := go tool -modfile=$(CURDIR)/tools/go.mod
LINT       := $(TOOL) golangci-lint run --config $(CURDIR)/.golangci.yml

.DEFAULT_GOAL := help
.PHONY: help run build kube test test-go test-page soak-race soak-model lint vuln fuzz bench clean

help: ## say what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: build ## start a local cluster with a living workload, and countd on it; Ctrl-C ends both (first time: some 5 min)
	@echo 'make: once countd says "serving", its page is at http://$(LISTEN)'
	go build -o bin/demo ./test/kube/demo
	bin/demo -- bin/countd --listen=$(LISTEN)

build: ## build bin/countd
	go build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/countd ./cmd/countd

kube: ## build the control plane for tests: etcd, kube-apiserver, kube-controller-manager (first time: some 5 min)
	go run ./test/kube/demo -build

test: test-go test-page ## run all tests, with the race detector, against a real control plane (some 5 min)

test-go: kube ## run the Go tests
	go test -race -timeout 20m -parallel 8 $(TESTFLAGS) ./...
	go -C bench test -race $(TESTFLAGS) ./...

test-page: ## run the page's tests in a real Chromium, which has to be there
	npm --prefix web/test ci
	npm --prefix web/test test

soak-race: kube ## the storm that crashed others, C1 in full: 40,000 objects, four writers, many subscribers (some min)
	go test -count=1 -timeout 60m -run TestC1 ./test/e2e -args -storm-objects=40000

soak-model: ## check each property of the tally with OPERATIONS=10000000 random operations, and say how many they were (10 min)
	go test -count=1 -timeout 120m -v -run '^Test(TallyIsARecount|DiffRebuilds|SelectIsARecount)$$' ./pkg/counts -rapid.checks=10000 -operations=$(OPERATIONS)

lint: ## look for faults that tests do not show (first time: builds the linters, 1 min)
	$(LINT) ./...
	cd bench && $(LINT) ./...

vuln: ## look for known vulnerabilities that countd can reach; needs the network
	$(TOOL) govulncheck ./...

fuzz: ## fuzz each parser of what comes from outside, FUZZTIME=30s each
	tools/fuzz $(FUZZTIME)

bench: ## measure memory, start and events beside client-go, and streams, OBJECTS=200000 (some 10 min); in full: see README
	go -C bench run ./memory -objects $(OBJECTS)
	go -C bench run ./start -objects $(OBJECTS) -runs 3
	go -C bench run ./events -objects $(OBJECTS)
	go -C bench run ./fanout -shape c11
	go -C bench run ./fanout -shape fan -connections 2000 -duration 20s
	go -C bench run ./fanout -shape storm -connections 1000 -custom-kinds 99
	go -C bench run ./fanout -shape views
	go -C bench run ./fanout -shape slow -duration 10s

clean: ## remove what was built here; the control plane stays in the user's cache
	rm -rf bin web/test/node_modules
