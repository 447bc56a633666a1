#!/usr/bin/env bash
# Copyright The rke-lm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Reviews a pull request on GitHub: annotations on standard output, the summary of the job in Markdown.
# BASE is what it is merged into; PATHS and FLAGS have one value for each line.
set -euo pipefail

words=(review --base "${BASE:?the base is not set; run the action for pull requests, or set base}")
while IFS= read -r line; do
  [ -z "$line" ] || words+=("$line")
done <<< "${FLAGS:-}
--
${PATHS:-}"

# "--" ends the flags, so the format comes first.
code=0
rke-lm "${words[0]}" -o github "${words[@]:1}" || code=$?
rke-lm "${words[0]}" -o markdown "${words[@]:1}" >> "$GITHUB_STEP_SUMMARY" 2> /dev/null || true
exit "$code"
