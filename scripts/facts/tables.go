// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// argument is a key that Rancher gives machines.
type argument struct{ name, kind, machines string }

// set is what releases know, sorted.
type set []argument

// tables are releases.tsv and arguments.tsv.
type tables struct {
	date string
	sets map[string]set // by release
}

const (
	datePrefix     = "# date: "
	releasesHeader = `# The RKE2 releases that Rancher's metadata (rancher/kontainer-driver-metadata)
# lists, each with the letter of its set of arguments in arguments.tsv. The metadata states no
# day: it is that of the file, or of the newest release.
`
	argumentsHeader = `# The arguments in Rancher's metadata (rancher/kontainer-driver-metadata): name,
# type, the machines that take it (an agent's argument, servers take as well), and
# the letters of the sets that hold it. Set a holds none.
`
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// parseTables reads the tables that are there.
func parseTables(releases, arguments string) (tables, error) {
	t := tables{sets: map[string]set{}}
	byLetter := map[string]set{}
	for line := range strings.Lines(arguments) {
		cells := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case len(cells) != 4:
			return t, fmt.Errorf("arguments.tsv: %q does not have four cells", line)
		}
		for _, letter := range strings.Split(cells[3], "") {
			byLetter[letter] = append(byLetter[letter], argument{cells[0], cells[1], cells[2]})
		}
	}
	for line := range strings.Lines(releases) {
		if date, found := strings.CutPrefix(line, datePrefix); found {
			t.date = strings.TrimSpace(date)
		}
		cells := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case len(cells) != 2:
			return t, fmt.Errorf("releases.tsv: %q does not have two cells", line)
		}
		t.sets[cells[0]] = byLetter[cells[1]].sorted()
	}
	return t, nil
}

// merge lays newer tables over these and lists what changes.
func (t tables) merge(newer tables) (tables, []string, error) {
	if newer.date < t.date {
		return t, nil, fmt.Errorf("the metadata is of %s, and the tables are of %s already", newer.date, t.date)
	}
	merged := tables{date: newer.date, sets: maps.Clone(t.sets)}
	var changes []string
	for _, release := range ordered(newer.sets) {
		before, there := t.sets[release]
		after := newer.sets[release]
		if !there {
			changes = append(changes, release+": new")
		} else if d := difference(before, after); d != "" {
			changes = append(changes, release+":"+d)
		}
		merged.sets[release] = after
	}
	return merged, changes, nil
}

// difference lists what a set gains and loses.
func difference(before, after set) string {
	var text string
	for _, a := range after {
		if !slices.Contains(before, a) {
			text += " +" + a.name + " (" + a.machines + ", " + a.kind + ")"
		}
	}
	for _, a := range before {
		if !slices.Contains(after, a) {
			text += " -" + a.name + " (" + a.machines + ", " + a.kind + ")"
		}
	}
	return text
}

// render writes the tables. The letters follow the first release of each set; the
// first one is kept for the set that is empty.
func (t tables) render() (releases, arguments string, err error) {
	sets := []set{{}}
	holds := map[argument]string{}
	releases = releasesHeader + datePrefix + t.date + "\n"
	for _, release := range ordered(t.sets) {
		s := t.sets[release]
		i := slices.IndexFunc(sets, func(other set) bool { return slices.Equal(s, other) })
		if i < 0 {
			if i = len(sets); i == len(letters) {
				return "", "", fmt.Errorf("there are more than %d sets of arguments, and no letters left", len(letters))
			}
			sets = append(sets, s)
			for _, a := range s {
				holds[a] += letters[i : i+1]
			}
		}
		releases += release + "\t" + letters[i:i+1] + "\n"
	}
	arguments = argumentsHeader
	for _, a := range set(slices.Collect(maps.Keys(holds))).sorted() {
		arguments += strings.Join([]string{a.name, a.kind, a.machines, holds[a]}, "\t") + "\n"
	}
	return releases, arguments, nil
}

// ordered sorts releases, those of one Kubernetes patch by their number.
func ordered(sets map[string]set) []string {
	return slices.SortedFunc(maps.Keys(sets), func(a, b string) int {
		return cmp.Or(semver.Compare(a, b), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
}

func (s set) sorted() set {
	return slices.SortedFunc(slices.Values(s), func(a, b argument) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.machines, b.machines), cmp.Compare(a.kind, b.kind))
	})
}
