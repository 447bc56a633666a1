#!/usr/bin/env bash
# Copyright The rke-lm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs rke-lm on Rancher itself, one Rancher at a time, and fails unless every scenario printed its last line.
set -euo pipefail
cd "$(dirname "$0")/../lab"

output=$(mktemp)
trap 'rm -f "$output"' EXIT
export LAB_RANCHER=1
go test -count=1 -timeout 60m -v ./realrancher
go test -count=1 -timeout 60m -v -run RancherItself ./e2e | tee "$output"
go run ./cmd/lines -section 'Rancher itself' <"$output"
