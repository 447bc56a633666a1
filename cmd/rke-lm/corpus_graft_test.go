// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// variant is a document of the corpus, changed in memory.
type variant struct {
	name string
	doc  *yamledit.Document
}

// graftEdit queues one change of a document below the place that the grafts of its kind start at.
type graftEdit func(e *yamledit.Edit, at yamledit.Node)

// graft is a way to be on AWS.
type graft struct {
	name  string
	edits []graftEdit
}

// onto makes the edits on a document, one proven edit after the other.
func (g graft) onto(doc *yamledit.Document, at func(*yamledit.Document) yamledit.Node) (*yamledit.Document, error) {
	for i, change := range g.edits {
		e := doc.Edit()
		change(e, at(doc))
		after, _, err := e.Apply()
		if err != nil {
			return nil, fmt.Errorf("%s, edit %d: %w", g.name, i, err)
		}
		doc = after
	}
	return doc, nil
}

// variantsOf yields a document in every graft and layout, each text once.
func (k corpusKind) variantsOf(doc *yamledit.Document) iter.Seq2[variant, error] {
	return func(yield func(variant, error) bool) {
		seen := map[string]bool{}
		for _, g := range k.grafts {
			grown, err := graft{g.name, append(k.first[:len(k.first):len(k.first)], g.edits...)}.onto(doc, k.at)
			if err != nil {
				if !yield(variant{name: g.name}, err) {
					return
				}
				continue
			}
			for _, v := range k.writtenDifferently(grown) {
				if text := string(v.doc.Bytes()); !seen[text] {
					seen[text] = true
					if !yield(variant{g.name + ", " + v.name, v.doc}, nil) {
						return
					}
				}
			}
		}
	}
}

// writtenDifferently returns a document in all layouts that it can have. They write whole lines, so all but the first start
// from one kind of break.
func (k corpusKind) writtenDifferently(doc *yamledit.Document) []variant {
	all := []variant{{"as it is", doc}}
	chunk := doc.Chunk()
	chunk.Bytes = bytes.ReplaceAll(chunk.Bytes, []byte("\r\n"), []byte("\n"))
	plain, err := transform.Parse(chunk)
	if err != nil {
		return all
	}
	for _, l := range append(layouts, k.layouts...) {
		if v, ok := l.of(plain); ok {
			all = append(all, variant{l.name, v})
		}
	}
	return all
}

// put sets a key of a mapping, there or not.
func put(e *yamledit.Edit, m yamledit.Node, key string, value any) {
	if at := m.Get(key); at.Exists() {
		e.Set(at, value)
		return
	}
	e.Insert(m, key, value)
}
