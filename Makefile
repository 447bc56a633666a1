# Copyright The rke-lm Authors
# SPDX-License-Identifier: Apache-2.0

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
CORPUS ?= ../shared/corpus
FUZZTIME ?= 30s
SIZE_LIMIT_MB ?= 40

BIN := bin/rke-lm
GOLDENS := cmd/rke-lm/testdata

.DEFAULT_GOAL := help
# Goldens are rewritten in place, so nothing may run beside them.
.NOTPARALLEL:
.PHONY: help build demo test golden goldens-clean lint bench fuzz corpus e2e verify size startup

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build bin/rke-lm
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN) ./cmd/rke-lm

demo: build ## Plan the clusters in examples/
	$(BIN) plan examples/

test: ## Run all tests
	go test ./...

golden: ## Rewrite the golden files
	go test ./cmd/rke-lm -run TestGolden -update

goldens-clean: golden ## Fail if rewriting the golden files changes or adds one
	git diff --exit-code -- $(GOLDENS)
	@new=$$(git ls-files --others --exclude-standard -- $(GOLDENS)); \
	if [ -n "$$new" ]; then echo "not in git:"; echo "$$new"; exit 1; fi

lint: ## Check formatting, vet, staticcheck, license headers, package names
	scripts/lint.sh

bench: ## Run all benchmarks
	go test -run '^$$' -bench . -benchmem ./...

fuzz: ## Run each fuzz target for FUZZTIME
	scripts/fuzz.sh $(FUZZTIME)

# A test runs in the folder of its package, so it is given an absolute path.
corpus: ## Run over the YAML files in CORPUS and print counts
	@if [ -d "$(CORPUS)" ]; then \
		RKE_LM_CORPUS="$(abspath $(CORPUS))" go test ./cmd/rke-lm -run TestCorpus -count=1 -v; \
	else \
		echo "skipped: no folder $(CORPUS); name one with CORPUS=DIR"; \
	fi

e2e: ## Run the command line scripts
	go test ./cmd/rke-lm -run TestScript -count=1

verify: lint test goldens-clean ## Run what a change must pass

size: build ## Fail if the binary is larger than SIZE_LIMIT_MB
	@bytes=$$(wc -c < $(BIN)); limit=$$(($(SIZE_LIMIT_MB) * 1000000)); \
	echo "$(BIN): $$((bytes)) bytes of at most $$limit"; \
	test $$bytes -le $$limit

startup: build ## Print how long --help takes, the median of 21 runs
	@go run scripts/startup.go $(BIN) --help
