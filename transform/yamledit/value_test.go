// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
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
