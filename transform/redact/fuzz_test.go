// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// FuzzDocument: whatever a document holds, redaction comes to an end, its lines stay one by one, and are the same
// alone.
func FuzzDocument(f *testing.F) {
	seeds, err := filepath.Glob("../yamledit/testdata/seeds/*")
	assert.Must(f, err == nil && len(seeds) != 0, "no seeds", err)
	for _, name := range seeds {
		text := assert.Value(os.ReadFile(name))(f)
		f.Add(text)
	}
	for _, text := range append([]string{secretive, multiline, elements, unended, aliased}, ownStrings...) {
		f.Add([]byte(text))
		f.Add([]byte(strings.ReplaceAll(text, "\n", "\r\n")))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		Text(string(text))
		d, err := yamledit.Parse(yamledit.Chunk{File: "in.yaml", Bytes: text})
		if err != nil {
			return
		}
		out := Document(d)
		if got, want := strings.Count(out, "\n"), bytes.Count(text, []byte("\n")); got != want {
			t.Fatalf("%d lines instead of %d:\n%s", got, want, out)
		}
		if len(text) < 4096 { // so that many are tried
			sameLines(t, d, 4)
		}
		if d.Root().Exists() {
			Value("key", d.Root().Value())
		}
	})
}
