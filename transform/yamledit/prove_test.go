// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"iter"
	"slices"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestAnyDifferenceFromAPromisedValueIsFound(t *testing.T) {
	list, mapping := []any{"a", "b"}, Map{{"a", "x"}, {"b", []any{"w", true}}}
	for _, c := range []struct {
		text string
		want any
		same bool
	}{
		{"[a, b]", list, true}, {"[a, c]", list, false}, {"[c, b]", list, false}, {"[a]", list, false}, {"[a, b, b]", list, false}, {"a", list, false}, {"{a: b}", list, false},
		{"{a: x, b: [w, true]}", mapping, true}, {"{b: [w, true], a: x}", mapping, false}, {"{a: z, b: [w, true]}", mapping, false}, {"{a: x, b: [w, 'true']}", mapping, false},
		{"{a: x, c: [w, true]}", mapping, false}, {"{a: x}", mapping, false}, {"[a, x]", mapping, false},
		{"a", "a", true}, {"b", "a", false}, {"'true'", "true", true}, {"true", "true", false}, {"&a a", "a", false}, {"[a]", "a", false},
	} {
		var n yaml.Node
		assert.NilError(t, yaml.Unmarshal([]byte(c.text), &n))
		err := equalValue(n.Content[0], c.want)
		assert.Truef(t, (err == nil) == c.same, "%s and %v: %v", c.text, c.want, err)
	}
}

// TestAnyOtherResultIsRefused changes what an edit made: each scalar, anchor and alias, and each collection by its last member or by the
// order of two.
func TestAnyOtherResultIsRefused(t *testing.T) {
	others := 0
	for name, c := range map[string]struct {
		in     string
		change func(*Edit, Node)
	}{
		"set":     {"a: x # c\nb: [1, {c: d}]\n", all(set("y", "a"), set([]string{"v", "w"}, "b"))},
		"insert":  {"m:\n  a: 1\n  c: [x]\n", all(add("b", Map{{"x", "y"}, {"z", []any{"v", true}}}, "m"), after("a", "d", "e", "m"))},
		"items":   {"l:\n- a\n- b: 1\n  c: 2\nz: &z 1\ny: *z\n", all(appendTo("n", "l"), first("f", "l"))},
		"remove":  {"m: {a: 1, b: 2, c: 3}\nl: [1, 2, 3]\n", all(drop("m", "b"), dropItem(1, "l"))},
		"rename":  {"m:\n  a: 1\n  b: {c: 2}\nz: 1\n", func(e *Edit, n Node) { e.Rename(n.Get("m", "b"), "d") }},
		"in text": {"m: |\n  a: 1\n  b: 2\nz: 1\n", inText("m", set("3", "b"))},
	} {
		d := assert.Value(ParseString("in.yaml", c.in))(t)
		e := d.Edit()
		c.change(e, d.Root())
		made, _, err := e.Apply()
		assert.Must(t, err == nil, name, err)
		for n := range allNodes(made.outer) {
			for _, other := range otherwiseThan(*n) {
				was := *n
				*n, others = other, others+1
				assert.Truef(t, e.prove(made) != nil, "%s: %q became %q in\n%s", name, was.Value, other.Value, made.Bytes())
				*n = was
			}
		}
		assert.True(t, e.prove(made) == nil, name)
	}
	assert.Truef(t, others >= 70, "only %d results were refused", others)
}

// allNodes are a node and those in it.
func allNodes(n *yaml.Node) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) {
		if yield(n) {
			for _, c := range n.Content {
				for in := range allNodes(c) {
					yield(in)
				}
			}
		}
	}
}

// otherwiseThan are nodes in the place of one.
func otherwiseThan(n yaml.Node) (list []yaml.Node) {
	step := map[yaml.Kind]int{yaml.SequenceNode: 1, yaml.MappingNode: 2}[n.Kind]
	if n.Kind == yaml.ScalarNode {
		n.Value, n.Tag = "other", yaml.NodeTagString
		list = append(list, n)
	}
	if n.Anchor != "" {
		anchored := n
		anchored.Anchor = "other"
		list = append(list, anchored)
	}
	if n.Kind == yaml.AliasNode {
		named, led := n, n
		named.Value, led.Alias = "other", &yaml.Node{}
		list = append(list, named, led)
	}
	if step > 0 && len(n.Content) >= 2*step {
		less, turned := n, n
		less.Content = n.Content[:len(n.Content)-step]
		turned.Content = slices.Concat(n.Content[step:2*step], n.Content[:step], n.Content[2*step:])
		list = append(list, less, turned)
	}
	return list
}
