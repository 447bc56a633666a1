// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	k8syaml "sigs.k8s.io/yaml"
)

// step is one part of a path: a key, or an index.
type step struct {
	key   string
	index int
}

// random makes edits, and with each a model of it: the same change of the
// plain values, by code that knows nothing of bytes.
type random struct {
	*rand.Rand
	nodes []Node
}

func newRandom(seed uint64, d *Document) *random {
	r := &random{Rand: rand.New(rand.NewPCG(seed, 7))}
	var walk func(Node)
	walk = func(n Node) {
		r.nodes = append(r.nodes, n)
		for _, c := range n.Items() {
			walk(c)
		}
		for _, c := range n.Entries() {
			walk(c.Value)
		}
	}
	if d.Root().Exists() {
		walk(d.Root())
	}
	return r
}

var words = []any{"external", "enable-leader-migration", "--v=2", "feature-gates=A=true,B=false", "yes", "0644", "", "a: b", "x # y", "ünï", true, false, 7, nil, "line one\nline two", "text\n", " lead", "'quoted'", "~", "{{ x }}"}

func (r *random) word() any { return words[r.IntN(len(words))] }

func (r *random) value() any {
	switch r.IntN(6) {
	case 0:
		return []any{r.word(), r.word()}
	case 1:
		return Map{{"config", Map{{"list", []any{r.word()}}}}, {"other", r.word()}}
	case 2:
		return []any{}
	}
	return r.word()
}

// edit queues one random change and returns its model.
func (r *random) edit(e *Edit) (name string, model func(any) any) {
	n := r.nodes[r.IntN(len(r.nodes))]
	v := r.value()
	path := pathOf(n)
	switch {
	case n.IsMap() && r.IntN(2) == 0:
		key := fmt.Sprintf("new-%d", r.IntN(1000))
		e.Insert(n, key, v)
		return "insert", func(doc any) any {
			return at(doc, path, func(m any) any { m.(map[string]any)[key] = plain(v); return m })
		}
	case n.IsList() && r.IntN(3) > 0:
		i := r.IntN(n.Len() + 1)
		e.InsertItem(n, i, v)
		return "insert item", func(doc any) any {
			return at(doc, path, func(l any) any { return insertAt(l.([]any), i, plain(v)) })
		}
	case n.parent != nil && r.IntN(4) == 0:
		e.Remove(n)
		return "remove", func(doc any) any { return at(doc, path[:len(path)-1], removal(path[len(path)-1])) }
	case n.key != nil && r.IntN(6) == 0:
		key := fmt.Sprintf("renamed-%d", r.IntN(1000))
		e.Rename(n, key)
		return "rename", func(doc any) any {
			return at(doc, path[:len(path)-1], func(m any) any {
				v := m.(map[string]any)[n.keyName()]
				delete(m.(map[string]any), n.keyName())
				m.(map[string]any)[key] = v
				return m
			})
		}
	case r.IntN(3) == 0 && n.IsScalar():
		if name, model := r.embedded(e, n, path); model != nil {
			return name, model
		}
	}
	e.Set(n, v)
	return "set", func(doc any) any { return at(doc, path, func(any) any { return plain(v) }) }
}

// embedded changes YAML inside of a string, if there is any.
func (r *random) embedded(e *Edit, n Node, path []step) (string, func(any) any) {
	text, ok := n.String()
	if !ok || !strings.Contains(text, ":") {
		return "", nil
	}
	in, err := e.Embedded(n)
	if err != nil {
		return "", nil
	}
	after := func(doc any) any { return at(doc, path, func(any) any { return in.after() }) }
	switch r.IntN(4) {
	case 0, 1:
		in.Append("appended: 1\nwith: [x]\n")
		return "append document", after
	case 2:
		in.Remove(r.IntN(len(in.Documents())))
		return "remove document", after
	}
	for i, d := range in.Documents() {
		if d.Root().Len() > 0 {
			inner := newRandom(r.Uint64(), d)
			name, _ := inner.edit(in.Edit(i))
			return "embedded " + name, after
		}
	}
	return "", nil
}

// after is the text that the embedded stream promises; that it is right is
// shown by the same fuzzers on streams that are not embedded.
func (e *Embedded) after() string {
	text, _, _ := e.apply()
	return text
}

func (n Node) keyName() string { return keyText(n.key) }

func pathOf(n Node) []step {
	if n.parent == nil {
		return nil
	}
	s := step{index: n.index}
	if n.key != nil {
		s.key = n.keyName()
	}
	return append(pathOf(*n.parent), s)
}

// at changes the value at path.
func at(doc any, path []step, change func(any) any) any {
	if len(path) == 0 {
		return change(doc)
	}
	switch c := doc.(type) {
	case map[string]any:
		c[path[0].key] = at(c[path[0].key], path[1:], change)
	case []any:
		c[path[0].index] = at(c[path[0].index], path[1:], change)
	}
	return doc
}

func insertAt(l []any, i int, v any) any {
	out := append([]any{}, l[:i]...)
	return append(append(out, v), l[i:]...)
}

func removal(s step) func(any) any {
	return func(c any) any {
		switch c := c.(type) {
		case map[string]any:
			delete(c, s.key)
		case []any:
			return append(append([]any{}, c[:s.index]...), c[s.index+1:]...)
		}
		return c
	}
}

// plain turns a value to be written into what a reader gets.
func plain(v any) any {
	switch v := v.(type) {
	case Map:
		m := map[string]any{}
		for _, p := range v {
			m[p.Key] = plain(p.Value)
		}
		return m
	case []any:
		l := []any{}
		for _, c := range v {
			l = append(l, plain(c))
		}
		return l
	case int:
		return float64(v)
	}
	return v
}

// read reads a document as Kubernetes does, with the library alone.
func read(b []byte) (any, error) {
	var v any
	err := k8syaml.Unmarshal(b, &v)
	return v, err
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
