// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"path"
	"regexp"
	"strings"
)

// image is a reference to an image in its parts.
type image struct{ name, tag, digest string }

// imageOf reads a reference: registry/name:tag@digest, of which tag and digest
// may be absent.
func imageOf(ref string) image {
	var i image
	ref, i.digest, _ = strings.Cut(ref, "@")
	i.name = ref
	if at := strings.LastIndex(ref, ":"); at > strings.LastIndex(ref, "/") {
		i.name, i.tag = ref[:at], ref[at+1:]
	}
	return i
}

func (i image) base() string { return path.Base(i.name) }

// withTag returns the reference with another tag.
func (i image) withTag(tag string) string { return i.name + ":" + tag }

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
