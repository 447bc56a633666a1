// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func parsed(t *testing.T, text string, served bool) *yamledit.Document {
	t.Helper()
	d, err := yamledit.Parse(yamledit.Chunk{File: "a", Bytes: []byte(text), Served: served})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const (
	oneLine = "{\n  \"m\": \"a: 1\\ntoken: abcdef\\n\",\n  \"n\": 1\n}\n"
	another = "{\n  \"m\": \"a: 1\\ntoken: abcdef\\nb: \\\"2\\\"\\n\",\n  \"n\": 1\n}\n"
)

func TestTheDiffOfAServedObjectShowsTheLinesThatChange(t *testing.T) {
	got := Diff(parsed(t, oneLine, true), parsed(t, another, true))
	if !strings.Contains(got, "   \"m\": |\n     a: 1\n") || !strings.Contains(got, "\n+    b: \"2\"\n") || strings.Contains(got, "\n-  ") || strings.Contains(got, "abcdef") {
		t.Error(got)
	}
}

// The diff of a file has the lines of the file.
func TestTheDiffOfAFileShowsItsLines(t *testing.T) {
	got := Diff(parsed(t, oneLine, false), parsed(t, another, false))
	if !strings.Contains(got, "\n-  \"m\": \"a: 1\\n") {
		t.Error(got)
	}
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
		if got := unfolded(in); got != want {
			t.Errorf("%q becomes %q, not %q", in, got, want)
		}
	}
}
