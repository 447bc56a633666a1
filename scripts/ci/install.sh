#!/usr/bin/env bash
# Copyright The rke-lm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs the release of this commit in a folder: install.sh VERSION URL FOLDER. release.txt has the version
# and the SHA-256 of each archive: VERSION is empty or the same, and URL is only where the archive is.
set -euo pipefail

release=$(cd "$(dirname "$0")" && pwd)/release.txt
[ -f "$release" ] || {
  echo "this commit is not the one after a release, it has no scripts/ci/release.txt; pin the action by the commit that is in the notes of a release" >&2
  exit 1
}
read -r version < "$release"
[ -z "$1" ] || [ "$1" = "$version" ] || {
  echo "the release of this commit is $version, not $1; pin the action by the commit of $1, or do not set the version" >&2
  exit 1
}
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
curl --fail --silent --show-error --location --retry 3 --remote-name "$url/$name.tar.gz"
sum=sha256sum
command -v "$sum" > /dev/null || sum='shasum -a 256'
grep -F "  $name.tar.gz" "$release" | $sum --check --status - || {
  echo "$name.tar.gz does not have the checksum of the release; nothing was installed" >&2
  exit 1
}
tar -xzf "$name.tar.gz"
mkdir -p "$folder"
cp "$name/rke-lm" "$folder/rke-lm"
