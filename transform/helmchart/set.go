// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// addSet adds the entries of spec.set in the order in which they count:
// helm-controller sorts the keys, and Helm takes all of --set before all of
// --set-string.
func (r *Release) addSet() {
	entries := r.Spec("set").Entries()
	slices.SortFunc(entries, func(a, b yamledit.Entry) int {
		return cmp.Or(rank(a.Value)-rank(b.Value), strings.Compare(a.Key, b.Key))
	})
	for _, e := range entries {
		l := Layer{Form: Entry, Name: "set", Index: r.Index, At: e.Value, values: map[string]any{}, partial: indexed.MatchString(e.Key)}
		r.err = cmp.Or(r.err, l.apply(l.values))
		r.add(l)
	}
}

func rank(n yamledit.Node) int {
	if typed(n) {
		return 0
	}
	return 1
}

// typed reports whether helm-controller passes a value with --set rather than
// --set-string.
func typed(n yamledit.Node) bool {
	s, isString := n.String()
	return !isString || slices.Contains([]string{"true", "false", "null"}, strings.ToLower(s))
}

var (
	// indexed is a key of --set that names an item of a list.
	indexed = regexp.MustCompile(`(^|[^\\])\[`)
	// farIndex is an index of four digits or more: Helm would make a list that long.
	farIndex = regexp.MustCompile(`\[[0-9]{4,}`)
	// commas are those that helm-controller escapes, with what escapes them already.
	commas = regexp.MustCompile(`\\*,`)
)

// apply sets what the entry sets.
func (l Layer) apply(values map[string]any) error {
	if farIndex.MatchString(l.At.Key()) {
		return l.At.Errorf("an index above 999 creates a list with mostly empty items", "correct its key")
	}
	parse, value := strvals.ParseInto, fmt.Sprint(l.At.Value())
	if !typed(l.At) {
		parse = strvals.ParseIntoString
		value = commas.ReplaceAllStringFunc(value, func(s string) string {
			if len(s)%2 == 1 {
				return `\` + s
			}
			return s
		})
	}
	if err := parse(l.At.Key()+"="+value, values); err != nil {
		return l.At.Errorf("Helm cannot read this entry as --set", "correct its key")
	}
	return nil
}
