// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform/k8s"
)

//go:embed later.tsv
var laterTSV string

// laterArgument is an argument that only newer metadata lists for a release.
// Rancher loads its metadata from the network, so the release alone does not
// tell whether machines get the argument.
type laterArgument struct {
	ServersOnly bool
	first       []string // the first release of each minor, sorted
}

var laterArguments = sync.OnceValue(func() map[string]laterArgument {
	table := map[string]laterArgument{}
	for row := range rows(laterTSV) { // name, type, machines, first releases
		table[row[0]] = laterArgument{ServersOnly: row[2] == "server", first: strings.Split(row[3], ",")}
	}
	return table
})

// Later returns an argument that the tables do not list for the release, and
// newer metadata does.
func (r Release) Later(key string) (laterArgument, bool) {
	a, listed := laterArguments()[key]
	if _, known := r.Type(key); known || !listed {
		return laterArgument{}, false
	}
	return a, reached(r.Version, a.first)
}

// reached reports whether a release is at or after the first one of its minor.
// Minors after the last that is named have always reached it.
func reached(version string, first []string) bool {
	minor := semver.MajorMinor(version)
	i := slices.IndexFunc(first, func(f string) bool { return semver.MajorMinor(f) == minor })
	if i < 0 {
		return semver.Compare(minor, semver.MajorMinor(first[len(first)-1])) > 0
	}
	return k8s.AtLeast(version, first[i])
}

// isLater reports whether newer metadata lists an argument for any release: it is
// then no slip of another one.
func isLater(key string) bool {
	_, listed := laterArguments()[key]
	return listed
}
