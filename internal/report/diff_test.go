// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// A diff is made of the lines that change. It is the one of the whole redacted documents.
func TestADiffOfLinesIsThatOfTheDocuments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 2000 {
		lines := strings.SplitAfter(randomDocument(r), "\n")
		before := read(t, strings.Join(lines, ""))
		at := r.IntN(len(lines))
		end := at + r.IntN(min(4, len(lines)-at)+1)
		if r.IntN(2) == 0 {
			end = at
		}
		text := strings.Join(lines[:at], "") + fmt.Sprintf("new%d: %d\n", round, round) + strings.Join(lines[end:], "")
		after := read(t, text)
		want := Unified("in.yaml", string(redact.Document(before)), string(redact.Document(after)), 0)
		if got := withoutPaths(Diff(before, after)); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// randomDocument is one of lines that are all different, secrets among them.
func randomDocument(r *rand.Rand) string {
	var b strings.Builder
	for i := range 1 + r.IntN(60) {
		switch r.IntN(4) {
		case 0:
			fmt.Fprintf(&b, "password%d: hidden%d\n", i, i)
		case 1:
			fmt.Fprintf(&b, "# comment %d\n", i)
		default:
			fmt.Fprintf(&b, "key%d: value%d\n", i, i)
		}
	}
	return strings.TrimSuffix(b.String(), strings.Repeat("\n", r.IntN(2)))
}

func read(t *testing.T, text string) *yamledit.Document {
	t.Helper()
	d, err := yamledit.ParseString("in.yaml", text)
	if err != nil {
		t.Fatal(err, text)
	}
	return d
}

// withoutPaths removes the paths that head the hunks.
func withoutPaths(diff string) string {
	var b strings.Builder
	for line := range strings.Lines(diff) {
		if head, _, is := strings.Cut(strings.TrimPrefix(line, "@@"), "@@"); is && strings.HasPrefix(line, "@@") {
			line = "@@" + head + "@@\n"
		}
		b.WriteString(line)
	}
	return b.String()
}
