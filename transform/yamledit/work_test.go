// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestTheWorkForADocumentIsCounted(t *testing.T) {
	d := assert.Value(Parse(Chunk{File: "c.yaml", Bytes: []byte("a: {b: [1, 2, 3], c: '{d: e}'}\n")}))(t)
	before := d.texts.work.nodes.Load()
	d.Root().Get("a", "b").Items() // two keys, three items
	assert.Equal(t, d.texts.work.nodes.Load()-before, 5)
	in := assert.Value(d.Root().Get("a", "c").Embedded())(t)
	before = d.texts.work.nodes.Load()
	in.Documents()[0].Root().Get("d")
	assert.Equal(t, d.texts.work.nodes.Load()-before, 1, "a document in a string")
}

func TestADocumentWhoseBudgetIsSpentEndsItsWork(t *testing.T) {
	for of, spend := range map[string]func(*Document){
		"values are read":  func(d *Document) { d.texts.work.nodes.Store(Most.Nodes); d.Root().Get("a") },
		"bytes are parsed": func(d *Document) { d.texts.work.bytes.Store(Most.Bytes); d.parsed(1) },
	} {
		d := assert.Value(Parse(Chunk{File: "c.yaml", Line: 6, Bytes: []byte("a: b\n")}))(t)
		func() {
			defer func() {
				e, is := recover().(*Error)
				assert.Truef(t, is && e.File == "c.yaml" && e.Line == 7 && strings.Contains(e.What, of), "%s: %v", of, e)
			}()
			spend(d)
			t.Errorf("%s: no end", of)
		}()
	}
}

func TestWhatADocumentForgetsIsWorkedOutAgain(t *testing.T) {
	d := assert.Value(Parse(Chunk{Bytes: []byte("a: 1\n")}))(t)
	found := 0
	ask := func() int {
		return Derive(d, "key", func() int { found++; return found }) + Recall(d, []byte("text"), func() int { found += 10; return found })
	}
	first := ask()
	assert.True(t, ask() == first && found == 11, "a second question works it out again", found)
	d.Forget()
	assert.True(t, ask() != first && found == 22, "it is not forgotten", found)
}
