// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import "sync"

// texts keeps what was parsed of a document's strings, for the document and those
// that edits make of it: most of a manifest stays as it is from one to the next.
// What a text parses to depends on its bytes alone, and documents do not change,
// so a proof may go by what is kept as well.
type texts struct {
	mu       sync.Mutex
	known    map[string]*Document
	readings memory // of texts, by the type as which they were read
}

// parse is Parse for a text inside of a document. What fails is not kept, for the
// error names its place.
func (t *texts) parse(c Chunk, flat bool) (*Document, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, known := t.known[string(c.Bytes)]
	if !known {
		var err error
		if d, err = Parse(c); err != nil {
			return nil, err
		}
		if t.known == nil {
			t.known = map[string]*Document{}
		}
		t.known[string(c.Bytes)] = d
	}
	own := &Document{chunk: c, root: d.root, outer: d.outer, json: d.json, flat: flat, lines: d.lines, style: d.style, aliases: d.aliases, texts: t}
	own.comments = sync.OnceValue(func() []comment { return findComments(own) })
	return own, nil
}
