// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// blocks returns mappings inside of each other, a key for each line.
func blocks(levels int) string {
	var b strings.Builder
	for i := range levels {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

func TestNestingIsBounded(t *testing.T) {
	for _, c := range []struct {
		name string
		text func(levels int) string
		line func(levels int) int // of the first level too many
	}{
		{"block mappings", blocks, func(l int) int { return l }},
		{"flow lists", func(l int) string { return "a: 1\nb:\n  " + strings.Repeat("[", l-1) + strings.Repeat("]", l-1) }, func(int) int { return 3 }},
		{"flow mappings", func(l int) string { return strings.Repeat("{a: ", l) + "1" + strings.Repeat("}", l) }, func(int) int { return 1 }},
		{"JSON", func(l int) string { return strings.Repeat("[\n", l) + strings.Repeat("]\n", l) }, func(l int) int { return l }},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseString("in.yaml", c.text(MaxNesting))
			assert.Truef(t, err == nil, "%d levels: %v", MaxNesting, err)
			for _, levels := range []int{MaxNesting + 2, 9000} {
				if c.name == "block mappings" && levels == 9000 {
					continue // larger than any document
				}
				_, err := ParseString("in.yaml", c.text(levels))
				want := fmt.Sprintf("in.yaml:%d: more than %d mappings", c.line(MaxNesting+1), MaxNesting)
				assert.Truef(t, errors.Is(err, ErrTooDeep) && strings.HasPrefix(err.Error(), want), "%d levels: %v instead of %s", levels, err, want)
			}
		})
	}
}

// strings inside of strings, a literal block for each.
func blocksOfText(levels int) string {
	text := "a: end\n"
	for range levels {
		text = "a: |\n " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n ") + "\n"
	}
	return text
}

func TestDocumentsInStringsAreBounded(t *testing.T) {
	doc := assert.Value(ParseString("in.yaml", blocksOfText(MaxEmbedding+3)))(t)
	for level := 1; ; level++ {
		in, err := doc.Root().Get("a").Embedded()
		if level <= MaxEmbedding {
			assert.Mustf(t, err == nil, "level %d: %v", level, err)
			doc = in.Documents()[0]
			continue
		}
		want := fmt.Sprintf("in.yaml:%d: a: more than %d documents", level, MaxEmbedding)
		assert.Truef(t, errors.Is(err, ErrTooDeep) && strings.HasPrefix(err.Error(), want), "%v instead of %s", err, want)
		return
	}
}

func TestAnEditDoesNotForgetHowDeepADocumentIs(t *testing.T) {
	doc, err := ParseString("in.yaml", blocksOfText(MaxEmbedding))
	for range MaxEmbedding - 1 {
		assert.NilError(t, err)
		in, e := doc.Root().Get("a").Embedded()
		if err = e; err == nil {
			doc = in.Documents()[0]
		}
	}
	e := doc.Edit()
	e.Insert(doc.Root(), "b", "a: 1\nb: |\n  c: 1\n")
	after, _, err := e.Apply()
	assert.NilError(t, err)
	in := assert.Value(after.Root().Get("b").Embedded())(t)
	_, err = in.Documents()[0].Root().Get("b").Embedded()
	assert.True(t, errors.Is(err, ErrTooDeep), err)
}

func TestTheWorkForADocumentIsCounted(t *testing.T) {
	d := assert.Value(Parse(Chunk{File: "c.yaml", Bytes: []byte("a: {b: [1, 2, 3], c: '{d: e}'}\n")}))(t)
	before := d.texts.work.nodes.Load()
	d.Root().Get("a", "b").Items() // two keys, three items
	assert.Equal(t, d.texts.work.nodes.Load()-before, 5)
	in := assert.Value(d.Root().Get("a", "c").Embedded())(t)
	before = d.texts.work.nodes.Load()
	in.Documents()[0].Root().Get("d")
	assert.Equal(t, d.texts.work.nodes.Load()-before, 1, "a document in a string")
	before = d.texts.work.nodes.Load()
	d.Root().JSON()
	assert.Equal(t, d.texts.work.nodes.Load()-before, int64(weight(d.root)))
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
