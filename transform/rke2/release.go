// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

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

// ArgType is the type that Rancher's metadata gives an argument. Rancher
// enforces none of them; it only converts ArgBoolean.
type ArgType string

// The types that occur.
const (
	ArgString  ArgType = "string"
	ArgBool    ArgType = "bool" // unlike ArgBoolean, "true" stays a string
	ArgBoolean ArgType = "boolean"
	ArgArray   ArgType = "array" // a string passes, too
	ArgEnum    ArgType = "enum"
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
	if !ok || unfit(v) != "" {
		return nil, false
	}
	if t == ArgBoolean {
		return convert.ToBool(v), true
	}
	return v, true
}

// Type returns the type of an argument, whatever machines take it.
func (r Release) Type(key string) (ArgType, bool) { return r.argument(true, key) }

// ServerOnly reports whether pure workers lose the key.
func (r Release) ServerOnly(key string) bool {
	_, agent := r.agent[key]
	_, server := r.server[key]
	return server && !agent
}

// Keys returns all arguments, sorted. The caller must not change the result.
func (r Release) Keys() []string { return r.keys() }

func (r Release) argument(server bool, key string) (ArgType, bool) {
	t, ok := r.agent[key]
	if !ok && server {
		t, ok = r.server[key]
	}
	return t, ok
}

var releaseForm = regexp.MustCompile(`^v\d+\.\d+\.\d+(-rc\d+)?\+rke2r\d+$`)

func isRelease(version string) bool {
	return releaseForm.MatchString(version) && semver.IsValid(version)
}

func isK3s(version string) bool { return strings.Contains(version, "+k3s") }

// argumentSet is what releases of one set know, by the machines that take it.
type argumentSet struct {
	server, agent map[string]ArgType
	keys          func() []string
}

func (s argumentSet) add(name string, t ArgType, serverOnly bool) {
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
				set.add(row[0], ArgType(row[1]), row[2] == "server")
			}
		}
	}
	return m
})

// TablesDate returns the day of the metadata from which the tables were made.
func TablesDate() string { return stated(releasesTSV, datePrefix) }

const datePrefix = "# date: "

// stated returns what a comment of a table states.
func stated(table, prefix string) string {
	for line := range strings.Lines(table) {
		if value, found := strings.CutPrefix(line, prefix); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// NewestRelease returns the newest release that the tables list.
func NewestRelease() string {
	return slices.MaxFunc(slices.Collect(maps.Keys(metadata().sets)), semver.Compare)
}

func newArgumentSet() argumentSet {
	s := argumentSet{server: map[string]ArgType{}, agent: map[string]ArgType{}}
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
	return a, k8s.Since(r.Version, a.first...)
}

// isLater reports whether newer metadata lists an argument for any release: it is
// then no slip of another one.
func isLater(key string) bool {
	_, listed := laterArguments()[key]
	return listed
}
