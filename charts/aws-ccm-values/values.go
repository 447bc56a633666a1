// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package values holds the chart values with which the
// aws-cloud-controller-manager runs, one file per format and cluster minor.
//
// Invariant: the image's minor is the cluster's, and up to 1.27 the manager joins a
// leader migration. With an image of 1.28 or later the default migration
// configuration names controllers that the image does not have, and services and
// routes would run in both managers; and there is no in-tree manager any more.
package values

import (
	"embed"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/mod/semver"
)

//go:embed rke1 rke2
var files embed.FS

// ForMinor returns the values for a format and a cluster minor such as "v1.26".
func ForMinor(format, minor string) (string, bool) {
	b, err := files.ReadFile(path.Join(format, minor+".yaml"))
	return string(b), err == nil
}

// Base returns the values for a minor, or those of the last minor for a later one: but for
// the tag of the image they are the same.
func Base(format, minor string) (string, bool) {
	minors := Minors(format)
	if last := minors[len(minors)-1]; semver.Compare(minor, last) > 0 {
		minor = last
	}
	return ForMinor(format, minor)
}

// Formats returns the formats that there are values for.
func Formats() []string { return []string{"rke1", "rke2"} }

// Minors returns the cluster minors that a format has values for, in their order.
func Minors(format string) []string {
	entries, err := fs.ReadDir(files, format)
	if err != nil {
		return nil
	}
	var minors []string
	for _, e := range entries {
		minors = append(minors, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return minors
}
