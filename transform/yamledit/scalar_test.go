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
