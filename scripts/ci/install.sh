#!/usr/bin/env bash
# Copyright The rke-lm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs a release in a folder: install.sh VERSION URL FOLDER. The archive is that of this machine,
# and has to have the checksum of the release.
set -euo pipefail

version=${1:?the version is not set; use a release such as v0.1.0}
url=$2/$version
folder=$3

case $(uname -m) in
  x86_64 | amd64) machine=amd64 ;;
  aarch64 | arm64) machine=arm64 ;;
  *) echo "there is no release for $(uname -m)" >&2; exit 1 ;;
esac
case $(uname -s) in
  Linux) name=rke-lm_${version}_linux_$machine ;;
  Darwin) name=rke-lm_${version}_darwin_$machine ;;
  *) echo "there is no archive for $(uname -s); install rke-lm, and set the version to installed" >&2; exit 1 ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
curl --fail --silent --show-error --location --retry 3 --remote-name "$url/$name.tar.gz" --remote-name "$url/checksums.txt"
sum=sha256sum
command -v "$sum" > /dev/null || sum='shasum -a 256'
grep -F "  $name.tar.gz" checksums.txt | $sum --check --status - || {
  echo "$name.tar.gz does not have the checksum of the release; nothing was installed" >&2
  exit 1
}
tar -xzf "$name.tar.gz"
mkdir -p "$folder"
cp "$name/rke-lm" "$folder/rke-lm"
