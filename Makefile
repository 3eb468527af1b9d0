# Fulcrum. The two commands: "make demo" and "make test". Both do all their own set-up from a
# machine that has Go, gcc, make and git.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# Go builds a tool the first time, and keeps it.
STATICCHECK = "$$(cd $(CURDIR)/tools && go tool -n staticcheck)"
GO_FILES := $(shell git ls-files '*.go')
# A Go that is older than go.mod asks for fetches this one, also where it is set up to fetch none.
export GOTOOLCHAIN ?= go1.27.3
# Without the folder in them, a clone in another folder finds what Go has built and checked.
export GOFLAGS := $(filter-out -trimpath,$(shell GOTOOLCHAIN=$(GOTOOLCHAIN) go env GOFLAGS)) -trimpath
# Tests make much garbage and need little memory, so that the default spends a third of the time on collecting it.
export GOGC ?= 400
# Packages in which goroutines meet; the race detector runs there. Tests of bindings and of budgets with one goroutine
# and much work under the detector are left out.
RACE := ./internal/cloud/observe ./internal/cluster/... ./internal/controller/... ./internal/engine/... ./internal/emulator/dataplane/... ./internal/emulator/resolver/... ./internal/kube/...
ONE_GOROUTINE := ^(TestMemoryDoesNotAffectTheResult|TestCachedRulesMatchAFreshComputation|TestRunsConvergeAndThenMakeNoCalls|TestRunsSurviveFailedCalls|TestNoRuleOfARegisteredTargetIsRevoked|TestARefusedTargetIsRetriedWithBackOff|TestManyTenantsLeaveTheShareOfAnother|TestNoTenantUsesUpTheImportsOfTheAccount|TestRenewalsSpendNoMoreThanTheirShare|TestRefilledImportsGoToNamespacesWithFew)$$

## help: list the targets
.PHONY: help
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST) | awk -F': ' '{printf "  %-10s %s\n", $$1, $$2}'

## demo: a local Kubernetes, an AWS emulator, Fulcrum, and applications behind an IngressGroup, Services, Gateways and an accelerator; traffic is shown
.PHONY: demo
demo: build
	bin/fulcrum-demo

## test: lint, unit tests, goldens, property tests, recorded cases, end-to-end scripts
# The end-to-end scripts mostly wait, so the others run beside them, with less right to the processors:
# what the scripts wait for has deadlines.
.PHONY: test
test: build clients browser
	@$(MAKE) --no-print-directory --output-sync=line -j2 test-go test-cluster

.PHONY: test-go
test-go:
	nice $(MAKE) --no-print-directory lint
	nice $(MAKE) --no-print-directory test-unit
	nice $(MAKE) --no-print-directory test-race
	nice $(MAKE) --no-print-directory test-charts

# Collecting garbage more rarely still, and not sampling it, saves a twentieth to a tenth of the time.
.PHONY: test-unit
test-unit:
	GOGC=800 GODEBUG=memprofilerate=0 go test -vet=off -timeout 40m ./...
	cd tools && go test -vet=off -timeout 10m ./...
	cd local && go test -vet=off -timeout 10m $$(go list ./... | grep -vE '$(LOCAL)')

# -short leaves out what is long and has one goroutine: test-unit has run it.
.PHONY: test-race
test-race:
	go test -vet=off -timeout 40m -short -race -skip '$(ONE_GOROUTINE)' $(RACE)

# Renders the chart with Helm's library, which the other modules do not depend on. Go keeps a result until a file of
# the module changes, and does not see the pages in docs, nor the programs that tests with local worlds run: these are
# tested each time.
.PHONY: test-charts
test-charts:
	cd charts && go test -vet=off -count=1 -timeout 20m ./...

# What runs against a real API server, four packages at a time because they mostly wait, and the longest ones first.
LOCAL := /local/(cmd/fulcrum-acceptance|e2e|conformance|up|world)$$
.PHONY: test-local test-cluster browser
browser:
	@tools/chromium.sh
test-local: build clients browser
	@$(MAKE) --no-print-directory test-cluster
test-cluster:
	cd local && FULCRUM_BIN=$(CURDIR)/bin GOGC=800 GODEBUG=memprofilerate=0 go test -vet=off -count=1 -timeout 40m -p 4 ./cmd/fulcrum-acceptance ./e2e ./conformance ./up ./world

## lint: gofmt, go vet, staticcheck, the words of internal/testdata/words.txt, and govulncheck over all modules
.PHONY: lint
lint:
	@out=$$(gofmt -l $(GO_FILES)); if [ -n "$$out" ]; then echo "gofmt is needed for:"; echo "$$out"; exit 1; fi
	go vet ./...
	cd local && go vet ./...
	cd tools && go vet ./...
	cd charts && go vet ./...
	$(STATICCHECK) ./...
	cd local && $(STATICCHECK) ./...
	cd tools && $(STATICCHECK) ./...
	cd charts && $(STATICCHECK) ./...
	go test -vet=off -run '^TestWords$$' ./internal
	tools/govulncheck.sh

# What is neither the whole controller nor needs a program or a server: the inner loop.
HEAVY := /internal/(test/(adversary|cases|harness|properties|takeover)|cli|cloud|controller|emulator|engine|kube|webhook)(/|$$)
## quick: gofmt, go vet of changed packages and the short unit tests of the pure packages; under a minute after a first build
.PHONY: quick
quick:
	@out=$$(gofmt -l $(GO_FILES)); if [ -n "$$out" ]; then echo "gofmt is needed for:"; echo "$$out"; exit 1; fi
	@dirs=$$(git diff HEAD --relative --name-only --diff-filter=d -- 'api/*.go' 'cmd/*.go' 'internal/*.go' | xargs -r -n1 dirname | sort -u | sed 's|^|./|'); if [ -n "$$dirs" ]; then go vet $$dirs; fi
	go test -vet=off -short -timeout 10m $$(go list ./... | grep -vE '$(HEAVY)')

## conformance: the conformance suite of Gateway API, against a local Kubernetes and the AWS emulator; TEST=NAME runs one test, CLASS=NAME a class of another controller
.PHONY: conformance
conformance: build
	cd local && FULCRUM_BIN=$(CURDIR)/bin FULCRUM_CONFORMANCE_CONTROLLER=$(CLASS) FULCRUM_CONFORMANCE_REPORT=$(CURDIR)/bin/conformance-report.yaml \
		go test -timeout 25m -count=1 -v ./conformance $(if $(TEST),-run-test $(TEST))

## ecosystem: scripts with the programs that run beside this controller in real clusters, built from their own modules (10 minutes the first time)
.PHONY: ecosystem
ecosystem: build
	@for m in ecosystem/*/; do echo "Building $$m"; (cd $$m && GOBIN=$(CURDIR)/bin/ecosystem go install tool) || exit 1; done
	cd local && FULCRUM_BIN=$(CURDIR)/bin FULCRUM_ECOSYSTEM=$(CURDIR)/bin/ecosystem go test -vet=off -count=1 -v -timeout 40m -run 'TestEcosystem$$' ./e2e

## acceptance: try Fulcrum in an account of yours and a cluster: CONTEXT=NAME REGION=NAME, and PARTS=a,b for some; it asks first
.PHONY: acceptance
acceptance: build
	@[ -n "$(CONTEXT)" ] && [ -n "$(REGION)" ] || { echo "name the cluster and its region: make acceptance CONTEXT=my-cluster REGION=eu-west-1"; exit 2; }
	@bin/fulcrum-acceptance --context "$(CONTEXT)" --region "$(REGION)" --parts "$(PARTS)"

## soak: every test 50 times in random order, the long forms, 100 times the seeds, 20,000 histories; a night
.PHONY: soak
soak: soak-order soak-long soak-seeds

# Finds tests that depend on luck: the order of maps or of tests, or the speed of the machine. -short leaves a
# tenth of the seeds of each property test, which depend on none of these.
.PHONY: soak-order
soak-order:
	go test -short -count=50 -shuffle=on -timeout 24h ./...

# Each call and each pair, where "make test" takes a part of them (see seeds.Long).
.PHONY: soak-long
soak-long:
	FULCRUM_LONG=1 go test -count=1 -timeout 24h ./...
	FULCRUM_LONG=1 go test -count=1 -timeout 24h -race $(RACE)

.PHONY: soak-seeds
soak-seeds:
	FULCRUM_SEEDS=200 go test -count=1 -timeout 24h ./internal/test/properties ./internal/plan/...
	FULCRUM_SEEDS=100 go test -count=1 -timeout 24h -run 'TestResultDependsOnlyOnLastObjects$$|TestRejectedPriorities' ./internal/test/harness
	cd local && FULCRUM_SEEDS=100 go test -count=1 -timeout 24h -run 'TestLongScripts$$' ./e2e
	FULCRUM_ADVERSARY=20000 go test -count=1 -timeout 24h -v -run 'TestHistories$$' ./internal/test/adversary
	FULCRUM_ADVERSARY=1000 go test -count=1 -timeout 24h -run 'Test(Gateway|Secret|Shared)Histories$$' ./internal/test/adversary

## bench: benchmarks, with AWS calls counted, and CPU and latencies beside a real API server
.PHONY: bench
bench:
	go test -run '^$$' -bench . -benchmem ./...
	@FULCRUM_BENCH=1 go test -count=1 -v -run 'TestCalls$$|TestServiceCalls$$|TestServiceRestart$$|TestGatewayCalls$$|TestGatewayRestart$$|TestAcceleratorCalls$$|TestGatewayWithManyRoutes$$|TestRateLimits$$|TestRateLimitsBeyondTheDocumentedLimits$$|TestRestart$$|TestManyEditsShareCheckpointWrites$$|TestOnePodReplaced$$|TestPodChurn$$|TestPodChurnOfOneTenantDelaysNoOther$$|TestCost$$|TestDriftCalls$$|TestEditsDuringAnOutageTakeEffectAfterIt$$|TestKilled(Before|After)Each(Call|Write)$$' ./internal/test/harness | sed -n 's/^ *[a-z_]*\.go:[0-9]*: BENCH //p;/^\(ok\|FAIL\|---\)/p'
	@go test -count=1 -v -run 'TestAnExpiredCertificateIsReplacedByTheFirstSync$$' ./internal/webhook/serving | sed -n 's/^ *[a-z_]*\.go:[0-9]*: BENCH //p;/^\(ok\|FAIL\|---\)/p'
	@cd local && go test -count=1 -v -run 'TestKilledBetweenCalls$$' ./e2e | sed -n 's/^ *[a-z_]*\.go:[0-9]*: BENCH //p;/^\(ok\|FAIL\|---\)/p'
	@cd local && FULCRUM_BENCH=1 go test -count=1 -v -timeout 60m ./cost | sed -n 's/^ *[a-z_]*\.go:[0-9]*: BENCH //p;/^\(ok\|FAIL\|---\)/p'

## cases: compare with the recorded behaviour; a line per case and the sums
.PHONY: cases
cases:
	@go test -count=1 -v -run 'TestCases$$' ./internal/test/cases | sed -n 's/^ *[a-z_]*\.go:[0-9]*: \(CASE\|SUM\)/\1/p;/^\(ok\|FAIL\|---\)/p'

## generate: CRDs, deep copies, the reference pages, and what the chart takes from config
.PHONY: generate
generate:
	go generate ./...
	cd charts && go generate ./...

## build: all programs, into bin/
.PHONY: build
build:
	tools/build.sh . bin/
	tools/build.sh local bin/

# helm, kubectl and krew, for tests that run the commands of the documentation.
.PHONY: clients
clients:
	tools/build.sh charts bin/

## image: the container image as an OCI layout with SBOMs, into bin/image; no container engine and no registry is needed
.PHONY: image
image:
	rm -rf bin/image
	cd tools && go run ./release image --source .. --out ../bin/image --version "$$(git describe --tags --always)" \
		--commit "$$(git rev-parse HEAD)" --date "$$(git log -1 --format=%cI)"

## release: all files of a release into bin/release: programs, image, chart, manifests, SBOMs, checksums; VERSION=v0.9.0
.PHONY: release
release:
	@[ -n "$(VERSION)" ] || { echo "name the version: make release VERSION=v0.9.0"; exit 1; }
	rm -rf bin/release
	cd tools && go run ./release --root .. --out ../bin/release --version "$(VERSION)" --commit "$$(git rev-parse HEAD)" --date "$$(git log -1 --format=%cI)"

## clean: remove what was built
.PHONY: clean
clean:
	rm -rf bin
