// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package k8s compares Kubernetes releases and guards the path from one to
// the next.
//
// Invariant: a cluster moves at most one minor up and never down, whatever its
// distro; how a distro writes its releases is the distro's to know.
package k8s

import (
	"strconv"
	"strings"

	"golang.org/x/mod/semver"
)

// The minors at which the in-tree provider of AWS and leader migration change.
const (
	FirstWithout  = "v1.27" // the in-tree provider
	FirstMigrates = "v1.22" // leader migration with its default configuration
)

// From reports whether a release is of a minor or a later one.
func From(version, minor string) bool { return semver.Compare(semver.MajorMinor(version), minor) >= 0 }

// Minor returns the number of a release's minor, or 0 for what is no release.
func Minor(version string) int {
	_, minor, _ := strings.Cut(semver.MajorMinor(version), ".")
	n, err := strconv.Atoi(minor)
	if err != nil {
		return 0
	}
	return n
}

// AtLeast compares two releases without what a distro adds after the patch, so
// that v1.26.9-rancher1-1 is as late as v1.26.9.
func AtLeast(version, least string) bool { return semver.Compare(plain(version), plain(least)) >= 0 }

// AtLeastOf reports whether a version is as late as the first patch that one
// minor got a change in, or as the minor that was released with it. Both are read
// with or without a v.
func AtLeastOf(version, patched, released string) bool {
	version = "v" + strings.TrimPrefix(version, "v")
	return AtLeast(version, released) || semver.MajorMinor(version) == semver.MajorMinor(patched) && AtLeast(version, patched)
}

func plain(version string) string {
	version, _, _ = strings.Cut(version, "+")
	version, _, _ = strings.Cut(version, "-")
	return version
}
