// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// repeated are documents that grow with a number, each so that a careless reader
// would look at the rest of a line, or of the document, again and again.
var repeated = []struct {
	name string
	text func(n int) string
}{
	{"assignments in a comment", func(n int) string { return "a: 1 # " + strings.Repeat("a=b ", n) + "\n" }},
	{"secrets that say nothing in a comment", func(n int) string { return "a: 1 # " + strings.Repeat("token=true, ", n) + "\n" }},
	{"headings in a comment", func(n int) string { return "a: 1 # " + strings.Repeat("name: a ", n) + "\n" }},
	{"JSON in quotes", func(n int) string { return "a: '" + strings.Repeat(`{"x": {"y": "abcdef"}}, `, n) + "'\n" }},
	{"comments", func(n int) string { return strings.Repeat("# a=b: c\n", n) + "a: 1\n" }},
	{"comments after values", func(n int) string { return "a:\n" + strings.Repeat("- b # x: y\n", n) }},
	{"arguments", func(n int) string { return "a:\n" + strings.Repeat("- --v=2\n", n) }},
	{"keys", func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "a%d: b\n", i)
		}
		return b.String()
	}},
	{"JSON on one line", func(n int) string { return "[" + strings.Repeat(`"a=b", `, n) + "1]" }},
	{"a manifest in a string of JSON", func(n int) string {
		text, _ := json.Marshal(map[string]string{"a": strings.Repeat("kind: ConfigMap\nmetadata:\n  # a: b\n  name: a\n---\n", n)})
		return string(text)
	}},
	{"addresses", func(n int) string { return "a: \"" + strings.Repeat("a://", n) + "\"\n" }},
	{"flags", func(n int) string { return "a: \"" + strings.Repeat("--a -p -u ", n) + "\"\n" }},
	{"parameters", func(n int) string { return "a: \"" + strings.Repeat("?sig&a=", n) + "\"\n" }},
	{"elements", func(n int) string { return "a: \"" + strings.Repeat("<token>", n) + "\"\n" }},
	{"private keys", func(n int) string {
		return "a: \"" + strings.Repeat("-----BEGIN "+"PRIVATE KEY-----", n) + "\"\n"
	}},
	{"quotes in a comment", func(n int) string { return "a: 1 # " + strings.Repeat(`token: "`, n) + "\n" }},
	{"escaped quotes in a comment", func(n int) string { return "a: 1 # " + strings.Repeat(`a:\"b\\"`, n) + "\n" }},
	{"prefixes", func(n int) string { return "a: \"" + strings.Repeat("ghp_ eyJ AKIA Bearer ", n) + "\"\n" }},
	{"one long word", func(n int) string { return "a: " + strings.Repeat("aB3", n) + "\n" }},
	{"values that reach the next line", func(n int) string { return "a: [" + strings.Repeat("\"password=b\n  c\", ", n) + "1]\n" }},
	{"kinds", func(n int) string { return "# " + strings.Repeat("kind: Secret ", n) + "\na: 1\n" }},
}

// workOf returns how many bytes are looked at to redact a document.
func workOf(tb testing.TB, text string) (work int) {
	tb.Helper()
	d := assert.Value(yamledit.ParseString("in.yaml", text))(tb)
	counted = func(bytes int) { work += bytes }
	defer func() { counted = nil }()
	Document(d)
	Lines(d, 0, lineEnd(d.Bytes(), 0))
	return work
}

func TestTheWorkGrowsWithTheText(t *testing.T) {
	for _, c := range repeated {
		const n = 2000
		once, twice := workOf(t, c.text(n)), workOf(t, c.text(2*n))
		assert.Truef(t, once != 0 && float64(twice) <= 2.2*float64(once), "%s: %d bytes for %d, %d for %d", c.name, once, n, twice, 2*n)
		most := lookahead * len(c.text(n))
		assert.Truef(t, once <= most, "%s: %d bytes looked at for %d", c.name, once, len(c.text(n)))
	}
}

// BenchmarkDocument has each text once and twice as long: the second takes twice as
// long as the first.
func BenchmarkDocument(b *testing.B) {
	for _, c := range repeated {
		for _, n := range []int{10_000, 20_000} {
			d := assert.Value(yamledit.ParseString("in.yaml", c.text(n)))(b)
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				for b.Loop() {
					secretsAndShapes(d, span{0, len(d.Bytes())})
				}
			})
		}
	}
}
