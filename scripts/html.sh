#!/usr/bin/env bash
# Copyright The rke-lm Authors
# SPDX-License-Identifier: Apache-2.0

# Draws the page of plan -o html as a browser shows it on a phone, on a screen and on paper:
# scripts/html.sh BINARY FOLDER. A person looks at the pictures; they are not kept.
set -euo pipefail

bin=$1 dir=$2
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then
	echo "skipped: no Chromium on PATH; install the package chromium"
	exit 0
fi
mkdir -p "$dir"
# One of the clusters does not start: aws is gone in 1.28.
sed 's/v1.25.16+rke2r1/v1.28.15+rke2r1/; s/name: meadow/name: knot/' examples/ui-made.yaml > "$dir/knot.yaml"
"$bin" plan -o html examples "$dir/knot.yaml" > "$dir/plan.html"
draw() {
	"$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars "$@" "file://$(realpath "$dir")/plan.html" 2> "$dir/chromium.log"
}
for width in 380 1280; do
	draw "--window-size=$width,1600" "--screenshot=$(realpath "$dir")/plan-$width.png"
done
draw "--print-to-pdf=$(realpath "$dir")/plan.pdf"
ls -l "$dir"
