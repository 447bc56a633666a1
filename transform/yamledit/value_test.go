// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	k8syaml "sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// asEntry is what a reader makes of a plain scalar after a key; false says that
// it is no plain scalar there.
func asEntry(text string) (any, bool) {
	d, err := ParseString("a.yaml", "key: "+text+"\n")
	if err != nil || d.Root().Get("key").y == nil {
		return nil, false
	}
	if n := d.Root().Get("key").y; n.Style != 0 || n.Value != text || !d.Root().Get("key").IsScalar() {
		return nil, false
	}
	var v map[string]any
	if err := k8syaml.Unmarshal([]byte("key: "+text+"\n"), &v); err != nil {
		return nil, false
	}
	return v["key"], true
}

func requireReadersValue(t *testing.T, text string) {
	t.Helper()
	want, plain := asEntry(text)
	got := plainValue(text)
	assert.Truef(t, !plain || reflect.DeepEqual(got, want), "%q is %T %v, and readers take it for %T %v", text, got, got, want, want)
}

func TestPlainScalarsAreWhatReadersTakeThemFor(t *testing.T) {
	for _, text := range strings.Fields("--- -- - --v=2 -5 -0 +5 0 00 007 0644 08 0x1F 0o17 0b101 -0b11 1_000 1__0 1.5 .5 5. 1e3 1e-3 1E+3 1.2.3 1.2.3.4 10.0.0.0/8 " +
		"999999999999999 9999999999999999 12345678901234567890 99999999999999999999999 2001-01-01 2001-01-01T00:00:00Z 12:30:45 0x 0b 1e 1e+ + . .. " +
		"name node one noo True tRUE nul y N on oFF NaN inf <<x = v1.26.15+rke2r1 1,000 ١٢ 0.0.8 -.inf +.INF .NaN") {
		requireReadersValue(t, text)
	}
	requireReadersValue(t, "")
}

func TestEveryCaseOfAWordIsWhatReadersTakeItFor(t *testing.T) {
	for _, word := range strings.Fields("y yes n no true false on off null ~ .nan .inf +.inf -.inf") {
		for mask := range 1 << len(word) {
			text := []byte(word)
			for i := range text {
				if mask>>i&1 == 1 {
					text[i] = strings.ToUpper(word)[i]
				}
			}
			requireReadersValue(t, string(text))
		}
	}
}

func TestRandomScalarsAreWhatReadersTakeThemFor(t *testing.T) {
	const alphabet = "0011279.+-_eExXobBaFtTZz: yn"
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		text := make([]byte, 1+r.IntN(7))
		for i := range text {
			text[i] = alphabet[r.IntN(len(alphabet))]
		}
		requireReadersValue(t, string(text))
	}
}

func TestTheJSONOfANodeIsItsValue(t *testing.T) {
	for _, text := range []string{
		"{}", "[]", "", "~", "a: 1\nb: [x, 'y', \"z\\n\\u00e9\", ~, yes, 0644, 1.5, -7]\n",
		"b: {c: &x [1, é], d: *x}\na: |\n  one \"two\" \\\n  <three>\t\n", "yes: 1\n7: 2\n8: !!str 9\n1.0: !!int '3'\n",
		"a: 12345678901234567890\nb: 00000000-0000-4000-8000-000000000001\nc: .inf\nd: 2001-01-01\n",
	} {
		d := assert.Value(ParseString("a.yaml", text))(t)
		var got any
		err := json.Unmarshal(d.Root().JSON(), &got)
		assert.Truef(t, err == nil && reflect.DeepEqual(got, d.Root().Value()), "%q: %s, error %v", text, d.Root().JSON(), err)
	}
}

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
