// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package effective

import (
	_ "embed"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rancher/wrangler/v3/pkg/data/convert"
	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform/k8s"
)

// Release is an RKE2 release, and the arguments that Rancher lets through to it.
type Release struct {
	Version string
	Known   bool // listed by a Rancher version; see LookupRelease

	argumentSet
}

// LookupRelease returns the arguments of a release. One that no Rancher lists
// gets all arguments of all releases: dropping what it may know would be worse
// than keeping what it may not.
func LookupRelease(version string) Release {
	m := metadata()
	letter, known := m.sets[version]
	return Release{Version: version, Known: known, argumentSet: m.arguments[letter]}
}

// Keep returns what is left of a value in Rancher's filter (rancher
// pkg/capr/planner, filterField), and whether anything is. Only the value itself
// is looked at, not the members of a list.
func (r Release) Keep(server bool, key string, v any) (any, bool) {
	t, ok := r.argument(server, key)
	if !ok || Unfit(v) != "" {
		return nil, false
	}
	if t == "boolean" {
		return convert.ToBool(v), true
	}
	return v, true
}

// Type returns the type that Rancher's metadata gives an argument, whatever machines take it: string, bool, boolean,
// array or enum. Rancher enforces none of them, so an array may be a string; it only converts a boolean.
func (r Release) Type(key string) (string, bool) { return r.argument(true, key) }

// ServerOnly reports whether pure workers lose the key.
func (r Release) ServerOnly(key string) bool {
	_, agent := r.agent[key]
	_, server := r.server[key]
	return server && !agent
}

// Keys returns all arguments, sorted. The caller must not change the result.
func (r Release) Keys() []string { return r.keys() }

func (r Release) argument(server bool, key string) (string, bool) {
	t, ok := r.agent[key]
	if !ok && server {
		t, ok = r.server[key]
	}
	return t, ok
}

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
	if _, ok := r.argument(server, key); ok {
		if kind := Unfit(v); kind != "" {
			return kind + " is dropped"
		}
		return ""
	}
	serversOnly, ok := r.Later(key)
	switch {
	case r.ServerOnly(key), ok && serversOnly && !server:
		return "workers do not have the key"
	case ok:
		return "only newer metadata of Rancher lists the key for this release"
	}
	return "the release does not have the key"
}

// argumentSet is what releases of one set know, by the machines that take it.
type argumentSet struct {
	server, agent map[string]string
	keys          func() []string
}

func (s argumentSet) add(name string, t string, serverOnly bool) {
	if serverOnly {
		s.server[name] = t
	} else {
		s.agent[name] = t
	}
}

var (
	//go:embed releases.tsv
	releasesTSV string
	//go:embed arguments.tsv
	argumentsTSV string
)

type tables struct {
	sets      map[string]string      // the letter of a release's set
	arguments map[string]argumentSet // by letter; "" for those of all sets
}

var metadata = sync.OnceValue(func() tables {
	m := tables{sets: map[string]string{}, arguments: map[string]argumentSet{"": newArgumentSet()}}
	for row := range rows(releasesTSV) {
		m.sets[row[0]] = row[1]
		m.arguments[row[1]] = newArgumentSet()
	}
	for row := range rows(argumentsTSV) { // name, type, machines, letters of sets
		for letter, set := range m.arguments {
			if strings.Contains(row[3], letter) {
				set.add(row[0], row[1], row[2] == "server")
			}
		}
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

func newArgumentSet() argumentSet {
	s := argumentSet{server: map[string]string{}, agent: map[string]string{}}
	s.keys = sync.OnceValue(func() []string {
		keys := slices.Sorted(maps.Keys(s.server))
		keys = slices.AppendSeq(keys, maps.Keys(s.agent))
		slices.Sort(keys)
		return slices.Compact(keys)
	})
	return s
}

// rows yields the cells of each line that is not a comment.
func rows(table string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(table) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			if !yield(strings.Fields(line)) {
				return
			}
		}
	}
}

//go:embed later.tsv
var laterTSV string

// laterArgument is an argument that only newer metadata lists for a release.
// Rancher loads its metadata from the network, so the release alone does not
// tell whether machines get the argument.
type laterArgument struct {
	serversOnly bool
	first       []string // the first release of each minor, sorted
}

var laterArguments = sync.OnceValue(func() map[string]laterArgument {
	table := map[string]laterArgument{}
	for row := range rows(laterTSV) { // name, type, machines, first releases
		table[row[0]] = laterArgument{serversOnly: row[2] == "server", first: strings.Split(row[3], ",")}
	}
	return table
})

// Later reports whether the tables do not list an argument for the release, and newer metadata does, and whether
// that gives it to servers only.
func (r Release) Later(key string) (serversOnly, ok bool) {
	a, listed := laterArguments()[key]
	_, known := r.Type(key)
	return a.serversOnly, listed && !known && k8s.Since(r.Version, a.first...)
}

// IsLater reports whether newer metadata lists an argument for any release: it is
// then no slip of another one.
func IsLater(key string) bool {
	_, listed := laterArguments()[key]
	return listed
}
