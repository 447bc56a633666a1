// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func parsed(t *testing.T, text string, served bool) *yamledit.Document {
	t.Helper()
	return assert.Value(yamledit.Parse(yamledit.Chunk{File: "a", Bytes: []byte(text), Served: served}))(t)
}

const (
	oneLine = "{\n  \"m\": \"a: 1\\ntoken: abcdef\\n\",\n  \"n\": 1\n}\n"
	another = "{\n  \"m\": \"a: 1\\ntoken: abcdef\\nb: \\\"2\\\"\\n\",\n  \"n\": 1\n}\n"
)

func TestTheDiffOfAServedObjectShowsTheLinesThatChange(t *testing.T) {
	got := Diff(parsed(t, oneLine, true), parsed(t, another, true))
	assert.True(t, strings.Contains(got, "   \"m\": |\n     a: 1\n") && strings.Contains(got, "\n+    b: \"2\"\n") && !strings.Contains(got, "\n-  ") && !strings.Contains(got, "abcdef"), got)
	// The diff of a file has the lines of the file.
	assert.Contains(t, Diff(parsed(t, oneLine, false), parsed(t, another, false)), "\n-  \"m\": \"a: 1\\n")
}

func TestOnlyStringsOfSeveralLinesAreUnfolded(t *testing.T) {
	for in, want := range map[string]string{
		"  \"a\": \"b\",\n":                   "  \"a\": \"b\",\n",
		"  \"a\": \"b\\\\n\",\n":              "  \"a\": \"b\\\\n\",\n",
		"  \"a\\n\": \"b\",\n":                "  \"a\\n\": \"b\",\n",
		"    \"b\\nc\"\n":                     "    |\n      b\n      c\n",
		"  \"a\": \"b\\nc\\n\"\n":             "  \"a\": |\n    b\n    c\n    \n",
		"  \"a\": \"\\u003cb\\u003e\\nc\",\n": "  \"a\": |\n    <b>\n    c\n",
	} {
		got, from := unfolded(in)
		assert.Truef(t, got == want && len(from) == strings.Count(got, "\n"), "%q becomes %q, not %q", in, got, want)
	}
}

// A hunk names what changes in the document, also where the text has more lines than it.
func TestAHunkIsHeadedByThePathOfItsChange(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after string
		served        bool
		want          string
	}{
		{"a value", "a:\n  b: 1\n", "a:\n  b: 2\n", false, " @@ a.b\n"},
		{"a new key", "a:\n  b: 1\n", "a:\n  b: 1\n  c:\n    - d\n", false, " @@ a.c\n"},
		{"a removed item", "a:\n  - b\n  - c\n", "a:\n  - b\n", false, " @@ a[1]\n"},
		{"below a comment", "a: 1\n", "a: 1\n# of b\nb: 2\n", false, " @@ b\n"},
		{"JSON with another comma", "{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n  \"b\": 2\n}\n", false, " @@ b\n"},
		{"an unfolded string", oneLine, another, true, " @@ m\n"},
		{"below an unfolded string", "{\n  \"m\": \"a\\nb\\nc\\nd\\n\",\n  \"n\": 1\n}\n", "{\n  \"m\": \"a\\nb\\nc\\nd\\n\",\n  \"n\": 2\n}\n", true, " @@ n\n"},
		{"a key that looks like a secret", "AKIAIOSFODNN7EXAMPLE: 1\n", "AKIAIOSFODNN7EXAMPLE: 2\n", false, " @@ <redacted>\n"},
		{"a key of two lines", "\"a\\nb\": 1\n", "\"a\\nb\": 2\n", false, " @@ a b\n"},
	} {
		assert.Contains(t, Diff(parsed(t, c.before, c.served), parsed(t, c.after, c.served)), c.want, c.name)
	}
}
