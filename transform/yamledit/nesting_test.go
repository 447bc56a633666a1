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
