#!/usr/bin/env bash
# Copyright The rke-lm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests again and again, also slowed down, and fails unless every run passes: a test that fails once in
# hundreds of runs shows a fault that depends on timing. Arguments are packages; without any, all of them run.
# Packages whose code or tests import what starts goroutines or takes locks run most often. Sweeps over many inputs, which
# depend on no timing, are left out by -short. Each line of the output has the packages of one command, and how long it took.
set -uo pipefail
cd "$(dirname "$0")/.."

often=${STRESS_OFTEN:-100} # runs of the packages that start goroutines or take locks
rest=${STRESS_REST:-20}    # runs of the others
slow=${STRESS_SLOW:-10}    # runs of the first in each of the slow ways

logs=$(mktemp -d)
busy=() failed=0
trap 'kill "${busy[@]}" 2>/dev/null; [ "$failed" = 0 ] && rm -r "$logs"' EXIT
trap 'exit 130' INT TERM

# repeat NAME COUNT PACKAGES FLAG... runs the tests of the packages so many times.
repeat() {
  local name=$1 count=$2 packages=$3 began=$SECONDS log
  shift 3
  [ -n "$packages" ] && [ "$count" -gt 0 ] || return 0
  log=$logs/$name
  # shellcheck disable=SC2086 # one word for each package
  if go test -short -timeout 0 -exec "env GOGC=400" -count "$count" "$@" $packages >"$log" 2>&1; then
    echo "ok    $name: $count times $(wc -w <<<"$packages") packages in $((SECONDS - began)) s"
  else
    echo "FAIL  $name: $count times $(wc -w <<<"$packages") packages in $((SECONDS - began)) s: $log"
    grep -E '^(--- FAIL|FAIL|panic:|WARNING: DATA RACE|fatal error:)|\[build failed\]' "$log" | sort | uniq -c
    failed=1
  fi
}

# "sync" and "testing/synctest" are imported by what starts goroutines and by what takes locks.
listing=$(go list -f '{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}' "${@:-./...}") || exit 1
concurrent=$(awk '/ (sync|sync\/atomic|testing\/synctest|golang.org\/x\/sync\/[a-z]+)( |$)/ { print $1 }' <<<"$listing")
others=$(awk '!/ (sync|sync\/atomic|testing\/synctest|golang.org\/x\/sync\/[a-z]+)( |$)/ { print $1 }' <<<"$listing")

repeat concurrent "$often" "$concurrent"
repeat others "$rest" "$others"
CGO_ENABLED=1 repeat race "$slow" "$concurrent" -race
GOMAXPROCS=1 repeat one-processor "$slow" "$concurrent"
for ((n = 0; n < 2 * $(nproc); n++)); do
  while :; do :; done &
  busy+=($!)
done
repeat busy-loops "$slow" "$concurrent"
exit "$failed"
