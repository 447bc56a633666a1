#!/usr/bin/env bash
# Copyright The rke-lm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs every check even when an earlier one fails, so that one run shows all there is to fix.
set -uo pipefail
cd "$(dirname "$0")/.."

failed=0

# check NAME COMMAND... shows what the command printed only when it fails.
check() {
  local name=$1 out
  shift
  if out=$("$@" 2>&1); then
    echo "ok    $name"
  else
    echo "FAIL  $name"
    printf '%s\n' "$out" | sed 's/^/      /'
    failed=1
  fi
}

# empty COMMAND... fails when the command does, or when it lists anything.
empty() {
  local out
  out=$("$@") || { printf '%s\n' "$out"; return 1; }
  [ -z "$out" ] || { printf '%s\n' "$out"; return 1; }
}

# sources PATTERN... lists the files that are or could be committed and still exist.
sources() {
  git ls-files --cached --others --exclude-standard -- "$@" | while IFS= read -r file; do
    [ ! -f "$file" ] || printf '%s\n' "$file"
  done
}

unformatted() {
  sources '*.go' | tr '\n' '\0' | xargs -0 gofmt -l
}

headless() {
  local file mark
  sources '*.go' '*.sh' Makefile '*/Makefile' .ci/run | while IFS= read -r file; do
    case $file in
      *.go) mark='//' ;;
      *) mark='#' ;;
    esac
    # Three lines, because a script begins with "#!".
    head -n 3 "$file" | tr '\n' '|' | grep -qF \
      "$mark Copyright The rke-lm Authors|$mark SPDX-License-Identifier: Apache-2.0|" ||
      echo "$file: does not begin with the copyright and SPDX lines"
  done
}

# What is built is not committed.
large() {
  sources | tr '\n' '\0' | xargs -0 -I{} find {} -size +1M
}

# A package is named for what it holds.
misnamed() {
  sources '*.go' | while IFS= read -r file; do
    grep -HnE '^package[[:space:]]+(utils?|common|helpers?)(_test)?([^[:alnum:]_]|$)' "$file" || true
  done
}

# listed CELL WHERE prints the words in a cell of the rows of CONTRIBUTING.md's word list, as one pattern.
listed() {
  awk -F'|' -v cell="$1" -v where="$2" '/^\| `/ && $4 ~ where { print $cell }' CONTRIBUTING.md | grep -o '`[^`]*`' | tr -d '`' | paste -sd'|' -
}

misworded() {
  local start='(^|[^[:alnum:]_-])' end='($|[^[:alnum:]_-])' everywhere texts allowed
  everywhere=$(listed 2 everywhere) texts=$(listed 2 texts) allowed=$(listed 5 .)
  {
    git grep --untracked -niE "$start($everywhere)$end" -- '*.md' '*.go' ':!CONTRIBUTING.md' | sed -E "s/${allowed:-^$}//g" | grep -iE "$start($everywhere)$end"
    git grep --untracked -niE "$start($texts)$end" -- '*.md' 'testdata/golden/prose.txt' ':!CONTRIBUTING.md' ':!CHANGELOG.md'
    git grep --untracked -niE "\"[[:alnum:]%][^\"]*[^[:alnum:]_\"-]($texts)$end" -- '*.go' ':!*_test.go' # a message, and not its first word
  } || true
}

check gofmt empty unformatted
check headers empty headless
check packages empty misnamed
check sizes empty large
check words empty misworded
check vet go vet ./...
# A module of its own keeps staticcheck out of this one's requirements.
check staticcheck go tool -modfile=tools/go.mod staticcheck ./...
check "vet lab" go -C lab vet ./...
check "staticcheck lab" go -C lab tool -modfile=../tools/go.mod staticcheck ./...
check "vet lab/chart" go -C lab/chart vet ./...
check "vet release" go -C release vet ./...
check "staticcheck release" go -C release tool -modfile=../tools/go.mod staticcheck ./...
exit "$failed"
