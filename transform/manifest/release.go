// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"regexp"
)

// releaseForm is a Kubernetes release and what a distribution appends to it.
var releaseForm = regexp.MustCompile(`^(v[1-9]\d*\.\d+\.\d+)([-+_.].*)?$`)

// isRelease reports whether a version is a release of Kubernetes and no more.
func isRelease(version string) bool { return version != "" && releaseOf(version) == version }

// releaseOf returns the Kubernetes release that a tag or version starts with, or
// "".
func releaseOf(version string) string {
	if m := releaseForm.FindStringSubmatch(version); m != nil {
		return m[1]
	}
	return ""
}
