// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package effective

import (
	_ "embed"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rancher/wrangler/v3/pkg/data/convert"
	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// Release is an RKE2 release, and the arguments that Rancher lets through to it.
type Release struct {
	Version string
	Known   bool // listed by a Rancher version; see LookupRelease

	arguments map[string]argument
}

// argument is one that agents take, and servers as well, or servers only.
type argument struct {
	kind       string
	serverOnly bool
}

// LookupRelease returns the arguments of a release. One that no Rancher lists
// gets all arguments of all releases: dropping what it may know would be worse
// than keeping what it may not.
func LookupRelease(version string) Release {
	m := metadata()
	letter, known := m.sets[version]
	return Release{Version: version, Known: known, arguments: m.arguments[letter]}
}

// Keep returns what is left of a value in Rancher's filter (rancher
// pkg/capr/planner, filterField), and whether anything is. Only the value itself
// is looked at, not the members of a list.
func (r Release) Keep(server bool, key string, v any) (any, bool) {
	if !r.takes(server, key) || Unfit(v) != "" {
		return nil, false
	}
	if r.arguments[key].kind == "boolean" {
		return convert.ToBool(v), true
	}
	return v, true
}

// takes reports whether an argument reaches servers, or agents.
func (r Release) takes(server bool, key string) bool {
	a, known := r.arguments[key]
	return known && (server || !a.serverOnly)
}

// Type returns the type that Rancher's metadata gives an argument, whatever machines take it: string, bool, boolean,
// array or enum. Rancher enforces none of them, so an array may be a string; it only converts a boolean.
func (r Release) Type(key string) (string, bool) {
	a, known := r.arguments[key]
	return a.kind, known
}

// ServerOnly reports whether pure workers lose the key.
func (r Release) ServerOnly(key string) bool { return r.arguments[key].serverOnly }

// Keys returns all arguments, sorted.
func (r Release) Keys() []string { return slices.Sorted(maps.Keys(r.arguments)) }

var releaseForm = regexp.MustCompile(`^v\d+\.\d+\.\d+(-rc\d+)?\+rke2r\d+$`)

// IsRelease reports whether a version is one of RKE2.
func IsRelease(version string) bool {
	return releaseForm.MatchString(version) && semver.IsValid(version)
}

// Unfit returns what Rancher drops whatever its key, "null", "a number" or "a mapping", and "" for what it keeps.
func Unfit(v any) string {
	switch v.(type) {
	case string, bool, []any:
		return ""
	case nil:
		return "null"
	case map[string]any:
		return "a mapping"
	}
	return "a number"
}

// reason returns why Keep drops a key, and "" when it does not. A value that is dropped has won, and erased those
// before it.
func (r Release) reason(server bool, key string, v any) string {
	serversOnly, ok := r.Later(key)
	switch takes, kind := r.takes(server, key), Unfit(v); {
	case takes && kind == "":
		return ""
	case takes:
		return kind + " is dropped"
	case r.ServerOnly(key), ok && serversOnly && !server:
		return "workers do not have the key"
	case ok:
		return "only newer metadata of Rancher lists the key for this release"
	}
	return "the release does not have the key"
}

var (
	//go:embed releases.tsv
	releasesTSV string
	//go:embed arguments.tsv
	argumentsTSV string
	//go:embed later.tsv
	laterTSV string
)

type tables struct {
	sets      map[string]string              // the letter of a release's set
	arguments map[string]map[string]argument // by letter; "" for those of all sets
	later     map[string]laterArgument
}

var metadata = sync.OnceValue(func() tables {
	m := tables{sets: map[string]string{}, arguments: map[string]map[string]argument{"": {}}, later: map[string]laterArgument{}}
	for row := range lists.Rows(releasesTSV) {
		m.sets[row[0]], m.arguments[row[1]] = row[1], map[string]argument{}
	}
	for row := range lists.Rows(argumentsTSV) { // name, type, machines, letters of sets
		for letter, set := range m.arguments {
			if _, known := set[row[0]]; strings.Contains(row[3], letter) && !(known && row[2] == "server") {
				set[row[0]] = argument{kind: row[1], serverOnly: row[2] == "server"}
			}
		}
	}
	for row := range lists.Rows(laterTSV) { // name, type, machines, first releases
		m.later[row[0]] = laterArgument{serversOnly: row[2] == "server", first: strings.Split(row[3], ",")}
	}
	return m
})

// TablesDate returns the day of the metadata from which the tables were made.
func TablesDate() string { return dateOf(releasesTSV) }

// LaterDate returns the month of the newer metadata that Later is about.
func LaterDate() string { return dateOf(laterTSV) }

// dateOf returns what a comment of a table states.
func dateOf(table string) string {
	_, date, _ := strings.Cut(table, "# date: ")
	date, _, _ = strings.Cut(date, "\n")
	return date
}

// Newest returns the newest release of a minor such as v1.26, or with "" of all, that the tables list and that is no
// candidate; "" for none.
func Newest(minor string) (newest string) {
	for _, release := range slices.Sorted(maps.Keys(metadata().sets)) {
		if (minor == "" || semver.MajorMinor(release) == minor) && !strings.Contains(release, "-rc") && semver.Compare(release, newest) >= 0 {
			newest = release
		}
	}
	return newest
}

// laterArgument is an argument that only newer metadata lists for a release.
// Rancher loads its metadata from the network, so the release alone does not
// tell whether machines get the argument.
type laterArgument struct {
	serversOnly bool
	first       []string // the first release of each minor, sorted
}

// Later reports whether the tables do not list an argument for the release, and newer metadata does, and whether
// that gives it to servers only.
func (r Release) Later(key string) (serversOnly, ok bool) {
	a, listed := metadata().later[key]
	_, known := r.Type(key)
	return a.serversOnly, listed && !known && k8s.Since(r.Version, a.first...)
}

// IsLater reports whether newer metadata lists an argument for any release: it is
// then no slip of another one.
func IsLater(key string) bool {
	_, listed := metadata().later[key]
	return listed
}
