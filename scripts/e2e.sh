#!/usr/bin/env bash
# Copyright The rke-lm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the scripts of the command line and all scenarios of the lab, and fails unless every scenario
# printed its last line.
set -euo pipefail
cd "$(dirname "$0")/.."

go test ./cmd/rke-lm -run TestScript -count=1
go -C lab/election test -count=1 ./...

output=$(mktemp)
trap 'rm -f "$output"' EXIT
cd lab
go test -p 1 -count=1 -timeout 60m -v -skip OfARancher ./... | tee "$output"
# These mostly wait, and their managers elect at leisure.
go test -parallel 5 -count=1 -timeout 60m -v -run OfARancher ./e2e | tee -a "$output"
go run ./cmd/lines <"$output"
