// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

// Pair is a cluster before a change and after it; one of the sides may be nil.
type Pair struct{ Before, After *Side }

// Pairs finds out which clusters are the same: first those with one name in one file, then
// those that moved to another file. was returns the name that a file had before the change.
// The pairs come in the order after the change, removed clusters last.
func Pairs(before, after []*Side, was func(file string) string) []Pair {
	m := matching{before: before, of: map[*Side]*Side{}, taken: map[*Side]bool{}}
	m.match(after, func(b, a *Side) bool { return file(b) == was(file(a)) })
	m.match(after, func(b, a *Side) bool { return b.Identity().Name != "" })
	var pairs []Pair
	for _, a := range after {
		pairs = append(pairs, Pair{m.of[a], a})
	}
	for _, b := range before {
		if !m.taken[b] {
			pairs = append(pairs, Pair{Before: b})
		}
	}
	return pairs
}

func file(s *Side) string { return s.Docs[0].File() }

type matching struct {
	before []*Side
	of     map[*Side]*Side // by the side after the change
	taken  map[*Side]bool
}

// match pairs clusters with one name, in their order.
func (m *matching) match(after []*Side, near func(b, a *Side) bool) {
	for _, a := range after {
		if m.of[a] != nil {
			continue
		}
		for _, b := range m.before {
			if !m.taken[b] && a.Identity().Is(b.Identity()) && near(b, a) {
				m.of[a], m.taken[b] = b, true
				break
			}
		}
	}
}
