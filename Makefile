# Copyright The rke-lm Authors
# SPDX-License-Identifier: Apache-2.0

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
CORPUS ?= ../shared/corpus
PLANNER ?= ../shared/planner
FACTS ?= ../shared/domain
REPRO ?= ../shared/repro
FUZZTIME ?= 30s
COSIGN ?= go run github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3
BENCH_CLUSTERS ?= 500
BENCH_MOST ?= 10000
BENCH_ROUNDS ?= 3
BENCH_NODES ?= 5000
SIZE_LIMIT_MB ?= 45
SOAK_PARALLEL ?= 6
HANDOVERS ?= 20
HTML_DIR ?= bin/html

# What is tested is built as what is released is, without cgo.
export CGO_ENABLED := 0

BIN := bin/rke-lm
BINDIR ?= $(HOME)/.local/bin
GOLDENS := testdata cmd/rke-lm/testdata

.DEFAULT_GOAL := help
# Goldens are rewritten in place, so nothing may run beside them.
.NOTPARALLEL:
.PHONY: help build install demo html test race stress golden goldens-clean generate lint bench fuzz corpus facts lab e2e e2e-rancher soak handover chart verify tidy vulnerabilities size lines startup release sign release-pin release-test

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build bin/rke-lm
	go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN) ./cmd/rke-lm

install: build ## Install rke-lm to BINDIR, which should be on PATH: [BINDIR=~/.local/bin]
	@mkdir -p "$(BINDIR)" && install -m 755 $(BIN) "$(BINDIR)/rke-lm" && echo "installed $(BINDIR)/rke-lm"
	@case ":$$PATH:" in *":$(BINDIR):"*) ;; *) echo "$(BINDIR) is not on PATH; add it: export PATH=\"$(BINDIR):\$$PATH\"" ;; esac

demo: build ## Plan the clusters in examples/
	$(BIN) plan examples/

html: build ## Draw the page of plan -o html in Chromium, at 380 and 1280 pixels and on paper: [HTML_DIR=DIR]
	scripts/html.sh $(BIN) $(HTML_DIR)

test: ## Run all tests; make lint vets
	go test -vet=off -timeout 60m -parallel 4 -exec "env GOGC=400" ./...

race: ## Run the short tests with the race detector, which needs a C compiler
	CGO_ENABLED=1 go test -race -short -timeout 60m ./...

stress: ## Run the tests hundreds of times, also slowed down, which takes hours: [PACKAGES="./internal/..."]
	scripts/stress.sh $(PACKAGES)

golden: ## Rewrite the golden files
	go test ./cmd/rke-lm -run TestGolden -update

goldens-clean: golden ## Fail if rewriting the golden files changes or adds one
	git diff --exit-code -- $(GOLDENS)
	@new=$$(git ls-files --others --exclude-standard -- $(GOLDENS)); \
	if [ -n "$$new" ]; then echo "not in git:"; echo "$$new"; exit 1; fi

generate: ## Rewrite what is made from the API types, the table of rights and the chart: deploy/
	go test ./cmd/rke-lm -run 'TestDocsCustomResourceDefinitions|TestDocsDeploy' -update
	cd lab/chart && go test -run TestTheManifestIsTheRenderedChart . -update

lint: ## Check formatting, vet, staticcheck, license headers, package names, the word list
	scripts/lint.sh

bench: lab ## Run all benchmarks, then compare with yq, git grep and kubectl: docs/benchmarks.md
	go test -run '^$$' -bench . -benchmem ./...
	cd lab && go run ./bench -clusters $(BENCH_CLUSTERS) -rounds $(BENCH_ROUNDS) -most $(BENCH_MOST) -nodes $(BENCH_NODES) -markdown ../docs/benchmarks.md

fuzz: ## Run each fuzz target for FUZZTIME
	scripts/fuzz.sh $(FUZZTIME)

# Tests run in the folder of their package, so they are given absolute paths.
FACTS_FROM = RKE_LM_CORPUS="$(abspath $(CORPUS))" RKE_LM_PLANNER="$(abspath $(PLANNER))" RKE_LM_FACTS="$(abspath $(FACTS))" $(if $(wildcard $(REPRO)),RKE_LM_REPRO="$(abspath $(REPRO))")

corpus: ## Run over the files in CORPUS and PLANNER (clusters, Rancher's own results) and print counts
	@for dir in "$(CORPUS)" "$(PLANNER)" "$(FACTS)"; do \
		[ -d "$$dir" ] || echo "skipped: no folder $$dir; name one with CORPUS=DIR, PLANNER=DIR or FACTS=DIR"; \
	done
	$(FACTS_FROM) go test ./transform/rke2/effective -run 'Planner|Facts' -count=1 -v
	$(FACTS_FROM) go test ./transform/yamledit -run TestRandomEdits -count=1 -v
	$(FACTS_FROM) RKE_LM_SPELLINGS=1000000 go test -timeout 60m ./internal/clusters -run TestRandomSpellings -count=1 -v
	$(FACTS_FROM) go test -timeout 30m ./cmd/rke-lm -run 'TestCorpus|OfSharedClusters' -count=1 -v

facts: ## Make the tables of RKE2's releases and arguments from Rancher's metadata: FROM=data.json [DATE=2026-07-31]
	go run ./scripts/facts -from "$(FROM)" $(if $(DATE),-date "$(DATE)")

lab: ## Build the control planes and Rancher's webhook that the end-to-end tests run, once
	cd lab && nice -n 10 go run ./cmd/lab

e2e: lab ## Run the command line scripts, then the stages on real control planes
	scripts/e2e.sh

# Rancher takes about 25 minutes of CPU time to build once, so that this runs apart from e2e.
e2e-rancher: lab ## Run rke-lm on Rancher itself: its server, its webhook and Cluster API, built once
	scripts/e2e-rancher.sh

soak: lab ## Run what is too long for e2e: default timings, every stage undone, random kills, also of rke-lm; Rancher itself
	cd lab && LAB_SOAK=1 go test ./e2e -count=1 -parallel $(SOAK_PARALLEL) -timeout 90m -v
	scripts/e2e-rancher.sh

# More than two control planes at a time would make each other slow, and so the gaps longer.
handover: lab ## Measure for how long no manager runs the cloud controllers, in each stage and its undo, which takes hours: [HANDOVERS=20]
	cd lab && LAB_HANDOVERS=$(HANDOVERS) go test ./e2e -run 'TestGapsOf|TestHandOversWhile|TestALeaderThatIsStopped' -count=1 -parallel 2 -timeout 8h -v

# The module of its own keeps Helm out of this one's requirements.
chart: ## Render the published charts with all values, and print how many come out right; check deploy/chart
	cd lab/chart && go test -v .

# The module of its own keeps what releases need out of this one's requirements. A version that make
# made up is not one of a release.
release: ## Make the files of a release in dist/: [VERSION=v0.1.0] [BASE_URL=URL] [BUILDER=URI] [PLATFORMS=native] [HELM=FILE]
	cd release && go run . -out ../dist -platforms "$(PLATFORMS)" -base-url "$(BASE_URL)" $(if $(BUILDER),-builder "$(BUILDER)") $(foreach file,$(HELM),-helm "$(abspath $(file))") \
		$(if $(filter command line environment,$(origin VERSION)),-version "$(VERSION)")

# The checksum database of Go has the sum of that version.
sign: ## Sign the provenance in dist/, and so every file: keyless in a workflow, or SIGN_FLAGS="--key FILE ..."
	@file=$$(ls dist/*_provenance.json) && $(COSIGN) attest-blob --yes $(SIGN_FLAGS) --statement "$$file" --bundle "$${file%.json}.sigstore.json"

release-pin: ## Make the two commits after a release, from the files in dist/
	cd release && go run . -pin -out ../dist

release-test: ## Release the commit in two clones, compare, install and run; RELEASE_PLATFORMS=all takes minutes
	cd release && go test -count=1 -timeout 60m ./...

verify: lint test goldens-clean ## Run what a change must pass

# What a developer has set for go must not change the answer.
tidy: ## Fail if go mod tidy would change one of the modules
	@failed=; for file in $$(git ls-files '*go.mod'); do \
		GOFLAGS= GOWORK=off go -C "$$(dirname "$$file")" mod tidy -diff || { echo "$$file: run go mod tidy in its folder"; failed=1; }; \
	done; [ -z "$$failed" ]

# What is known of vulnerabilities changes without a change here, so that this is no part of verify.
vulnerabilities: ## Fail if the binary has code with a known vulnerability that it can reach; asks vuln.go.dev, or VULN_DB=URL
	go tool -modfile=tools/go.mod govulncheck $(if $(VULN_DB),-db "$(VULN_DB)") ./cmd/rke-lm

size: build ## Fail if the binary is larger than SIZE_LIMIT_MB
	@bytes=$$(wc -c < $(BIN)); limit=$$(($(SIZE_LIMIT_MB) * 1000000)); \
	echo "$(BIN): $$((bytes)) bytes of at most $$limit"; \
	test $$bytes -le $$limit

lines: ## Print how many lines of code the binary is made of, without blanks and comments
	@go run scripts/lines.go ./cmd/rke-lm

startup: build ## Print how long --help takes, the median of 21 runs
	@go run scripts/startup.go $(BIN) --help
