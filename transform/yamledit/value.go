// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"
)

// Value returns what a Kubernetes client reads: YAML 1.1 through JSON, so nil,
// bool, float64, string, []any or map[string]any ("yes" is true, 0644 is 420).
// A node that does not exist has the value nil. Aliases and merge keys are read
// through; Parse has made sure that they do not multiply.
func (n Node) Value() any {
	if n.y == nil {
		return nil
	}
	n.doc.Visit(weight(n.y))
	return value(n.y)
}

// JSON returns the node's Value as JSON, without escaping <, > and &, for decoding into another type.
// A node that does not exist is null. No one may change it.
func (n Node) JSON() []byte {
	if n.y == nil {
		return []byte("null")
	}
	type asJSON struct{ node *yaml.Node }
	return Derive(n.doc, asJSON{n.y}, func() []byte {
		nodes := weight(n.y)
		n.doc.Visit(nodes)
		return slices.Clip(appendJSON(make([]byte, 0, 16*nodes), n.y))
	})
}

// appendJSON appends a value as JSON, with sorted keys as json.Marshal writes it, which takes three times as long.
func appendJSON(b []byte, n *yaml.Node) []byte {
	switch n.Kind {
	case yaml.AliasNode:
		return appendJSON(b, n.Alias)
	case yaml.SequenceNode:
		b = append(b, '[')
		for _, c := range n.Content {
			b = append(appendJSON(b, c), ',')
		}
		return append(bytes.TrimSuffix(b, []byte(",")), ']')
	case yaml.MappingNode:
		b = append(b, '{')
		entries := pairs(n)
		slices.SortFunc(entries, func(a, b pair) int { return strings.Compare(keyText(a.key), keyText(b.key)) })
		for _, p := range entries {
			b = append(appendText(b, keyText(p.key)), ':')
			b = append(appendJSON(b, p.value), ',')
		}
		return append(bytes.TrimSuffix(b, []byte(",")), '}')
	}
	if isText(n) {
		return appendText(b, n.Value)
	}
	return append(b, JSON(scalarValue(n))...)
}

// appendText quotes a string; most need no escapes.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return append(b, JSON(s)...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// weight is how many nodes a reader meets in one, aliases read through.
func weight(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		return weight(n.Alias)
	}
	sum := 1
	for _, c := range n.Content {
		sum += weight(c)
	}
	return sum
}

// First returns the first node that exists, or else the last one.
func First(nodes ...Node) (n Node) {
	for _, n = range nodes {
		if n.Exists() {
			return n
		}
	}
	return n
}

// Distinct returns nodes without those that came before.
func Distinct(nodes []Node) []Node {
	seen := map[string]bool{}
	return slices.DeleteFunc(nodes, func(n Node) bool {
		before, p := len(seen), n.Path()
		seen[p] = true
		return len(seen) == before
	})
}

// StringAt returns the string at a path below a node; "" where there is none.
func (n Node) StringAt(keys ...string) string {
	s, _ := n.Get(keys...).String()
	return s
}

// String returns the value of a string scalar.
func (n Node) String() (string, bool) {
	if !n.IsScalar() {
		return "", false
	}
	if isText(n.y) {
		return n.y.Value, true
	}
	s, ok := scalarValue(n.y).(string)
	return s, ok
}

func value(n *yaml.Node) any {
	switch n.Kind {
	case yaml.AliasNode:
		return value(n.Alias)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			list[i] = value(c)
		}
		return list
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for _, p := range pairs(n) {
			m[keyText(p.key)] = value(p.value)
		}
		return m
	}
	return scalarValue(n)
}

// keyText returns a key as JSON has it: true, not yes.
func keyText(k *yaml.Node) string {
	if isText(k) {
		return k.Value
	}
	if n, ok := wholeNumber(k.Value); ok {
		return strconv.Itoa(int(n))
	}
	var m map[string]any
	if err := k8syaml.Unmarshal([]byte("? "+k.Value), &m); err == nil {
		for key := range m {
			return key
		}
	}
	return k.Value
}

// Equal compares a node with the value that was promised for it. A Map must
// have its keys in order.
func equalValue(n *yaml.Node, want any) error {
	switch w := want.(type) {
	case Map:
		return equalMap(n, w)
	case []any:
		if n.Kind != yaml.SequenceNode || len(n.Content) != len(w) {
			return fmt.Errorf("a list of %d items was promised", len(w))
		}
		for i, c := range n.Content {
			if err := equalValue(c, w[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if n.Kind != yaml.ScalarNode || n.Anchor != "" || scalarValue(n) != want {
		return fmt.Errorf("another scalar was promised")
	}
	return nil
}

func equalMap(n *yaml.Node, want Map) error {
	if n.Kind != yaml.MappingNode || len(n.Content) != 2*len(want) {
		return fmt.Errorf("a mapping of %d keys was promised", len(want))
	}
	for i, p := range want {
		if keyText(n.Content[2*i]) != p.Key {
			return fmt.Errorf("the key %q was promised", clip(p.Key))
		}
		if err := equalValue(n.Content[2*i+1], p.Value); err != nil {
			return err
		}
	}
	return nil
}

// scalarValue lets the library decide about every scalar that could be
// anything but a string.
func scalarValue(n *yaml.Node) any {
	if n.Style&yaml.TaggedStyle != 0 {
		return libraryValue(n.Tag+" "+strconv.Quote(n.Value), n.Value)
	}
	if n.Style != 0 {
		return n.Value
	}
	return plainValue(n.Value)
}

// isText reports without any work that a scalar's value is its text; most are.
func isText(n *yaml.Node) bool {
	return n.Style&yaml.TaggedStyle == 0 && (n.Style != 0 || !maybeTyped(n.Value))
}

// plainValue returns the value of a scalar without quotes or tag. Asking the
// library takes longer than parsing ten lines of YAML, so it is called for
// numbers alone, and once about each of YAML's words.
func plainValue(s string) any {
	if v, isWord := word(s); isWord {
		return v
	}
	if !maybeNumber(s) {
		return s
	}
	if n, ok := wholeNumber(s); ok {
		return n
	}
	return libraryValue(s, s)
}

func libraryValue(text, fallback string) any {
	var v any
	if err := k8syaml.Unmarshal([]byte(text), &v); err != nil {
		return fallback
	}
	return v
}

// yamlWords are the plain scalars that YAML 1.1 resolves by their spelling, with
// what the library makes of them; a reader of Kubernetes takes y for a string.
var yamlWords = sync.OnceValue(func() map[string]any {
	known := map[string]any{}
	for _, s := range strings.Fields("~ y Y yes Yes YES n N no No NO true True TRUE false False FALSE on On ON off Off OFF null Null NULL " +
		".nan .NaN .NAN .inf .Inf .INF +.inf +.Inf +.INF -.inf -.Inf -.INF") {
		known[s] = libraryValue(s, s)
	}
	known[""] = libraryValue("", "")
	return known
})

func word(s string) (v any, isWord bool) {
	const longest = len("false")
	if len(s) <= longest {
		v, isWord = yamlWords()[s]
	}
	return v, isWord
}

// wholeNumber reads the usual spelling of a number: decimal, without a zero in front, and short
// enough to be exact.
func wholeNumber(s string) (float64, bool) {
	n, err := strconv.Atoi(s)
	return float64(n), err == nil && len(s) <= 15 && strconv.Itoa(n) == s
}

// maybeNumber reports whether a plain scalar could be a number or a time.
func maybeNumber(s string) bool {
	return s != "" && strings.IndexByte("0123456789+-.", s[0]) >= 0 &&
		strings.ContainsAny(s, "0123456789") && strings.Count(s, ".") <= 1 && strings.Count(s, "-") <= 3 &&
		strings.Trim(s, "0123456789abcdefABCDEFxXoO_+-.:tTzZ ") == ""
}

// maybeTyped reports whether a plain scalar could resolve to something other
// than a string.
func maybeTyped(s string) bool {
	_, isWord := word(s)
	return isWord || maybeNumber(s)
}

// Same reports whether two values, as Node.Value returns them, mean the same.
// Where a string holds YAML documents these are compared, in any order: that is
// how they are applied.
//
// Documents in more than [MaxEmbedding] strings are compared as text.
func Same(a, b any) bool { return comparison(0).same(a, b) }

// comparison is one inside of so many strings.
type comparison int

func (c comparison) same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, c.same)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, c.same)
	case string:
		b, ok := b.(string)
		return ok && (a == b || c < MaxEmbedding && (c+1).sameStream(a, b))
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func (c comparison) sameStream(a, b string) bool {
	as, ok := objects(a)
	if !ok {
		return false
	}
	bs, ok := objects(b)
	if !ok || len(as) != len(bs) {
		return false
	}
	for _, v := range as {
		i := slices.IndexFunc(bs, func(w any) bool { return c.same(v, w) })
		if i < 0 {
			return false
		}
		bs = slices.Delete(bs, i, i+1)
	}
	return true
}

// objects returns the documents of a text if all of them are mappings.
func objects(text string) ([]any, bool) {
	docs, err := ParseStream(text)
	if err != nil {
		return nil, false
	}
	var found []any
	for _, d := range docs {
		switch {
		case !d.Root().Exists():
			continue
		case !d.Root().IsMap():
			return nil, false
		}
		found = append(found, d.Root().Value())
	}
	return found, len(found) > 0
}
