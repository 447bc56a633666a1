// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestSameComparesWhatIsMeant(t *testing.T) {
	m := func(text string) map[string]any { return map[string]any{"m": text} }
	for _, c := range []struct {
		name string
		a, b any
		want bool
	}{
		{"equal scalars", 1.0, 1.0, true},
		{"a number and its text", 1.0, "1", false},
		{"null and nothing", nil, nil, true},
		{"null and an empty string", nil, "", false},
		{"a scalar and a mapping", "x", map[string]any{}, false},
		{"a list and a mapping", []any{}, map[string]any{}, false},
		{"two orders of a mapping", map[string]any{"a": 1.0, "b": 2.0}, map[string]any{"b": 2.0, "a": 1.0}, true},
		{"an absent key and null", map[string]any{"a": nil}, map[string]any{}, false},
		{"other keys", map[string]any{"a": nil}, map[string]any{"b": nil}, false},
		{"two orders of a list", []any{1.0, 2.0}, []any{2.0, 1.0}, false},
		{"manifests in another layout", m("a: 1\nb: [2]\n"), m("b:\n- 2\na: 1"), true},
		{"manifests in another order", m("a: 1\n---\nb: 2\n"), m("---\nb: 2\n---\na: 1\n"), true},
		{"manifests of other content", m("a: 1\n"), m("a: 2\n"), false},
		{"one manifest more", m("a: 1\n"), m("a: 1\n---\na: 1\n"), false},
		{"manifests within manifests", m("v: |\n  a: 1\n  b: 2\n"), m("v: |\n  b: 2\n  a: 1\n"), true},
		{"texts that are no mappings", m("some: text\n"), m("some text\n"), false},
		{"other words", m("one"), m("two"), false},
		{"text that is no YAML", m("a: [\n"), m("a: [ \n"), false},
	} {
		assert.Truef(t, Same(c.a, c.b) == c.want && Same(c.b, c.a) == c.want, "%s: want %v", c.name, c.want)
	}
}
