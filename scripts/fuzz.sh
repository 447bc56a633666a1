#!/usr/bin/env bash
# Copyright The rke-lm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs every fuzz target, or the one that is named, for the given time. "go test -fuzz" takes one
# target of one package, so the targets are listed first.
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-30s}

# For each package, "go test -list" prints its targets and then "ok <package> <seconds>".
listing=$(go test -list "^${2:-Fuzz}" ./...) || {
  printf '%s\n' "$listing"
  exit 1
}
targets=$(printf '%s\n' "$listing" | awk '
  /^Fuzz/     { names[++n] = $1 }
  $1 == "ok"  { for (i = 1; i <= n; i++) print $2, names[i]; n = 0 }')

if [ -z "$targets" ]; then
  echo "no fuzz targets"
  exit 1
fi

printf '%s\n' "$targets" | while read -r package target; do
  echo "== $package $target"
  go test -run "^$" -fuzzminimizetime 1s -fuzz "^$target\$" -fuzztime "$time" "$package" </dev/null
done
