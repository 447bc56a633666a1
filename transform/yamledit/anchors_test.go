// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestAliasesAndMergeKeysAreReadAsKubernetesReadsThem(t *testing.T) {
	for _, in := range []string{
		"a: &x [1, {b: c}]\nd: *x\n",
		"base: &b {k: 1, l: 2}\nm:\n  <<: *b\n  k: 3\n",
		"base: &b {k: 1}\nother: &o {k: 2, l: 4}\nm: {<<: [*b, *o], z: 1}\n",
		"m: {<<: {k: 1}, l: 2}\n",
		"base: &b {k: {n: 1}}\nmore: &n\n  <<: *b\n  l: 1\nm:\n  <<: *n\n  <<x: 1\n",
		"a: &x yes\nb: *x\n",
		"'<<': {k: 1}\n",
		"a: &x !!str 1\nb: *x\nc: &y\nd: *y\n",
	} {
		d := assert.Value(ParseString("in.yaml", in))(t)
		want := asJSON(assert.Value(read([]byte(in)))(t))
		assert.Equal(t, asJSON(d.Root().Value()), want, in)
		assert.Equal(t, asJSON(assert.Value(read(d.Root().JSON()))(t)), want, in, "as JSON")
		assert.Equal(t, asJSON(walked(d.Root())), want, in, "walked")
	}
}

// walked builds a value from what the nodes show.
func walked(n Node) any {
	switch {
	case n.IsMap():
		m := map[string]any{}
		for _, e := range n.Entries() {
			if !e.Value.Same(n.Get(e.Key)) {
				m["found twice"] = e.Key
			}
			m[keyText(e.Value.key)] = walked(e.Value)
		}
		if n.Len() != len(m) {
			m["counted"] = n.Len()
		}
		return m
	case n.IsList():
		l := []any{}
		for _, c := range n.Items() {
			l = append(l, walked(c))
		}
		return l
	}
	return n.Value()
}

func TestWhatReadersDisagreeAboutIsRefused(t *testing.T) {
	for in, want := range map[string]string{
		"b: &b {k: 1}\nm:\n  k: 2\n  <<: *b\n":    `in.yaml:4: a merge key (<<) after the key "k" has the same key`,
		"b: &b [1]\nm:\n  <<: *b\n":               "in.yaml:3: a merge key (<<) refers to something other than a mapping",
		"m:\n  <<: 1\n":                           "a merge key (<<) refers to something other than a mapping",
		"b: &b {k: 1}\nm: {<<: [*b, 2]}\n":        "a merge key (<<) refers to something other than a mapping",
		"b: &b {k: 1}\nm: {<<: *b, <<: {l: 1}}\n": `the key "<<" is duplicated`,
	} {
		assert.Error(ParseString("in.yaml", in))(t, want, in)
	}
}

func TestAliasesThatNestTooDeepAreRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("k0: &k0 1\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "k%d: &k%d %s*k%d%s\n", i, i, strings.Repeat("[", MaxNesting/8), i-1, strings.Repeat("]", MaxNesting/8))
	}
	_, err := ParseString("in.yaml", b.String())
	assert.True(t, errors.Is(err, ErrTooDeep), err)
}

func TestAnEditNextToAnchorsKeepsThem(t *testing.T) {
	const shared = "a: &x\n  - v\nb: *x\n"
	runEdits(t, []editCase{
		{"a key next to them", shared + "c: 1\n", set("w", "c"), shared + "c: w\n"},
		{"a key after them", shared, add("c", "w"), shared + "c: w\n"},
		{"an alias becomes a value of its own", shared, set([]string{"w"}, "b"), "a: &x\n  - v\nb:\n  - w\n"},
		{"and a scalar", "a: &x v # why\nb: *x # b\n", set("w", "b"), "a: &x v # why\nb: w # b\n"},
		{"in a flow mapping", "a: &x v\nm: {b: *x, c: 1}\n", set("w", "m", "b"), "a: &x v\nm: {b: w, c: 1}\n"},
		{"an item of a list", "a: &x v\nl:\n  - *x\n  - u\n", func(e *Edit, n Node) { e.Set(n.Get("l").Items()[0], "w") }, "a: &x v\nl:\n  - w\n  - u\n"},
		{"an alias goes", shared, drop("b"), "a: &x\n  - v\n"},
		{"an item before the first of a list with an anchor", "a: &x\n- k:\n    v: 1\n", first(Map{{"w", 1}}, "a"), "a: &x\n- w: 1\n- k:\n    v: 1\n"},
		{"an item before the first of a list with a tag, indented", "a: !!seq # why\n  -   v: 1\n", first(Map{{"w", 1}}, "a"), "a: !!seq # why\n  -   w: 1\n  -   v: 1\n"},
		{"an item before the first of a list with both on a line of their own", "a: # why\n  !!seq &x\n  # first\n  - v\n", first("w", "a"), "a: # why\n  !!seq &x\n  - w\n  # first\n  - v\n"},
		{"an anchor that nothing uses stays with its list", "a: &x\n  - v # why\nb: 1\n", appendTo("w", "a"), "a: &x\n  - v # why\n  - w\nb: 1\n"},
		{"and with a list on one line", "a: &x [v]\n", appendTo("w", "a"), "a: &x [v, w]\n"},
		{"and with an empty one", "a: &x []\nb: 1\n", appendTo("w", "a"), "a: &x\n  - w\nb: 1\n"},
		{"and with one that gets empty", "a: &x\n  - v\nb: 1\n", dropItem(0, "a"), "a: &x []\nb: 1\n"},
		{"and with a mapping", "m: &m\n  a: 1\nb: 1\n", add("c", "x", "m"), "m: &m\n  a: 1\n  c: x\nb: 1\n"},
		{"and with a scalar", "a: &x aws # why\n", set("external", "a"), "a: &x external # why\n"},
		{"and below it", "m: &m\n  a: aws\n", set("external", "m", "a"), "m: &m\n  a: external\n"},
		{"and with a manifest", "m: &m |\n  a: 1\n", join("m", "b: 2\n"), "m: &m |\n  a: 1\n  ---\n  b: 2\n"},
		{"an anchor goes with all its aliases", shared + "c: 1\n", all(drop("a"), drop("b")), "c: 1\n"},
		{"a key next to a merge key", "b: &b {k: 1}\nm:\n  <<: *b\n  l: 2\n", set("x", "m", "l"), "b: &b {k: 1}\nm:\n  <<: *b\n  l: x\n"},
		{"a key in a mapping with one", "b: &b {k: 1}\nm:\n  <<: *b\n  l: 2\nz: 1\n", add("p", "x", "m"), "b: &b {k: 1}\nm:\n  <<: *b\n  l: 2\n  p: x\nz: 1\n"},
		{"a key next to an entry of a merge key", "b: &b {k: 1}\nm:\n  <<: *b\n  l: 2\nz: 1\n", after("k", "p", "x", "m"), "b: &b {k: 1}\nm:\n  <<: *b\n  l: 2\n  p: x\nz: 1\n"},
		{"a key next to a merge key goes", "b: &b {k: 1}\nm:\n  <<: *b\n  l: 2\n", drop("m", "l"), "b: &b {k: 1}\nm:\n  <<: *b\n"},
	})
}

func TestAnEditOfASharedValueNamesAllWhoShareIt(t *testing.T) {
	const list = "a: &x\n  - v\nb: *x\nc: *x\n"
	const merge = "b: &b\n  k: 1\nm:\n  <<: *b\nn: {<<: *b}\n"
	const both = "the anchor (&) on in.yaml:1, and its aliases (*) on in.yaml:3, in.yaml:4; copy the values to where they are used"
	for name, c := range map[string]struct {
		in     string
		change func(*Edit, Node)
		want   string
	}{
		"in the anchored list":               {list, appendTo("w", "a"), "in.yaml:1: a: the change would affect every use of this value: " + both},
		"through an alias":                   {list, appendTo("w", "b"), "in.yaml:3: b: the change would affect every use of this value: " + both},
		"an item of it":                      {list, func(e *Edit, n Node) { e.Set(n.Get("c").Items()[0], "w") }, both},
		"the anchored value":                 {"a: &x aws\nb: 1\nc: *x\n", set("external", "a"), "in.yaml:1: a: the change would affect every use of this value: the anchor (&) on in.yaml:1, and its aliases (*) on in.yaml:3;"},
		"the anchored value goes":            {list, drop("a"), both},
		"what holds an anchor goes":          {"m:\n  a: &x 1\nb: *x\n", drop("m"), "in.yaml:1: m: the change would affect every use of this value: the anchor (&) on in.yaml:2, and its aliases (*) on in.yaml:3"},
		"an entry of a merge key":            {merge, set("2", "m", "k"), "the anchor (&) on in.yaml:1, and its aliases (*) on in.yaml:4, in.yaml:5"},
		"an entry of a merge key goes":       {merge, drop("m", "k"), "the anchor (&) on in.yaml:1"},
		"an entry of a mapping in there":     {"m: {<<: {k: 1}}\n", set("2", "m", "k"), "in.yaml:1: m.k: this is from a merge key (<<); write the value as an entry of the mapping"},
		"a key that hides a merged one goes": {"b: &b {k: 1}\nm: {<<: *b, k: 2}\n", drop("m", "k"), "a merge key (<<) of the mapping has the same key, which would take effect instead"},
		"a manifest with an alias":           {"m: &m |\n  a: 1\nn: *m\n", func(e *Edit, n Node) { _, _ = e.Embedded(n.Get("m")) }, "its aliases (*) on in.yaml:3"},
	} {
		got, err := edited(t, c.in, c.change)
		assert.ErrorContains(t, err, c.want, name, got)
	}
}

func TestANodeReportsWhereItsValueIsWritten(t *testing.T) {
	d := assert.Value(ParseString("in.yaml", "x: &x\n  k:\n    - v\na: *x\nm:\n  <<: *x\ns: &s 1\nt:\n  - *s\n"))(t)
	root := d.Root()
	for path, c := range map[string]struct {
		node                 Node
		line, written, alias int
	}{
		"a":      {root.Get("a"), 4, 1, 4},
		"a.k":    {root.Get("a", "k"), 2, 2, 4},
		"a.k[0]": {root.Get("a", "k").Items()[0], 3, 3, 4},
		"m.k":    {root.Get("m", "k"), 2, 2, 6},
		"t[0]":   {root.Get("t").Items()[0], 9, 7, 9},
		"x.k":    {root.Get("x", "k"), 2, 2, 0},
	} {
		n := c.node
		assert.Truef(t, n.Path() == path && n.Line() == c.line && n.Written() == c.written && n.Alias() == c.alias, "%s: %s on line %d, written on %d, through %d", path, n.Path(), n.Line(), n.Written(), n.Alias())
	}
}
