// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"maps"
	"slices"
)

// Same reports whether two values, as Node.Value returns them, mean the same.
// Where a string holds YAML documents these are compared, in any order: that is
// how they are applied.
//
// Documents in more than [MaxEmbedding] strings are compared as text.
func Same(a, b any) bool { return comparison(0).same(a, b) }

// comparison is one inside of so many strings.
type comparison int

func (c comparison) same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, c.same)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, c.same)
	case string:
		b, ok := b.(string)
		return ok && (a == b || c < MaxEmbedding && (c+1).sameStream(a, b))
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func (c comparison) sameStream(a, b string) bool {
	as, ok := objects(a)
	if !ok {
		return false
	}
	bs, ok := objects(b)
	if !ok || len(as) != len(bs) {
		return false
	}
	for _, v := range as {
		i := slices.IndexFunc(bs, func(w any) bool { return c.same(v, w) })
		if i < 0 {
			return false
		}
		bs = slices.Delete(bs, i, i+1)
	}
	return true
}

// objects returns the documents of a text if all of them are mappings.
func objects(text string) ([]any, bool) {
	docs, err := ParseStream(text)
	if err != nil {
		return nil, false
	}
	var found []any
	for _, d := range docs {
		switch {
		case !d.Root().Exists():
			continue
		case !d.Root().IsMap():
			return nil, false
		}
		found = append(found, d.Root().Value())
	}
	return found, len(found) > 0
}
