// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"sync"
)

// memory is what was worked out and need not be again, until it is forgotten.
type memory struct {
	mu    sync.Mutex
	known map[any]func() any
}

func (m *memory) once(key any, find func() any) func() any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[any]func() any{}
	}
	if m.known[key] == nil {
		m.known[key] = sync.OnceValue(find)
	}
	return m.known[key]
}

// Forget drops what was worked out for a document, which is worked out again when it is asked for. Documents inside of its
// strings are others then.
func (d *Document) Forget() {
	d.derived.forget()
	d.texts.readings.forget()
	d.texts.mu.Lock()
	defer d.texts.mu.Unlock()
	d.texts.known = nil
}

func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = nil
}

// Derive returns what follows from a document alone: find works it out when the key is
// asked for the first time. No one may change the result.
func Derive[T any](d *Document, key any, find func() T) T {
	return d.derived.once(key, func() any { return find() })().(T)
}

// Attempt is Derive for what can fail, as it then does each time.
func Attempt[T any](d *Document, key any, find func() (T, error)) (T, error) {
	return Derive(d, key, func() func() (T, error) { return sync.OnceValues(find) })()
}

// Recall returns what a text is read as. It follows from text and type alone, and is kept
// for a document and those that edits make of it: most of their texts are the same, and without it a
// plan takes 1.09 times the CPU. To read a text may need others, never the same one.
func Recall[T any](d *Document, text []byte, read func() T) T {
	return d.texts.readings.once(reading[T](text), func() any { return read() })().(T)
}

// reading is the key of a text and the type as which it is read.
type reading[T any] string

// texts keeps what was parsed of a document's strings, for the document and those
// that edits make of it: most of a manifest stays as it is from one to the next.
// What a text parses to depends on its bytes alone, and documents do not change,
// so a proof may use what is kept as well.
type texts struct {
	mu       sync.Mutex
	known    map[string]*Document
	readings memory // of texts, by the type as which they were read
	work     work
}

// parse is Parse for a text inside of a document. What fails is not kept, for the
// error names its place.
func (t *texts) parse(c Chunk, flat bool) (*Document, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, known := t.known[string(c.Bytes)]
	if !known {
		var err error
		if d, err = common.parse(c); err != nil {
			return nil, err
		}
		if t.known == nil {
			t.known = map[string]*Document{}
		}
		t.known[string(c.Bytes)] = d
	}
	own := d.as(c, flat, t)
	own.parsed(len(c.Bytes))
	return own, nil
}

// as returns the document as it is in another place, with the same bytes.
func (d *Document) as(c Chunk, flat bool, t *texts) *Document {
	own := &Document{chunk: c, root: d.root, outer: d.outer, json: d.json, flat: flat, lines: d.lines, style: d.style, aliases: d.aliases, texts: t}
	own.comments = sync.OnceValue(func() []comment { return findComments(own) })
	return own
}

// ParseStream parses the documents of a text that is in no file.
func ParseStream(text string) ([]*Document, error) {
	var docs []*Document
	for _, c := range Split("", []byte(text)) {
		d, err := common.parse(c)
		if err != nil {
			return nil, err
		}
		docs = append(docs, d.as(c, false, &texts{}))
	}
	return docs, nil
}

// common keeps short texts for all documents: clusters of one fleet have the same
// manifests, and without it a plan of 500 takes 1.09 times the CPU.
var common commonTexts

// commonTexts are forgotten once they are too many, so memory stays bounded.
type commonTexts struct {
	mu    sync.Mutex
	known map[string]*Document
	size  int
}

const (
	longestCommon = 16 << 10
	mostCommon    = 256 << 10 // of text; the trees take some twenty times as much
)

func (t *commonTexts) parse(c Chunk) (*Document, error) {
	if len(c.Bytes) > longestCommon || c.Item > 0 {
		return Parse(c)
	}
	t.mu.Lock()
	d := t.known[string(c.Bytes)]
	t.mu.Unlock()
	if d != nil {
		return d, nil
	}
	alone := c
	alone.Bytes = bytes.Clone(c.Bytes) // not all of what is around it
	d, err := Parse(alone)
	if err != nil {
		return nil, err
	}
	t.keep(d)
	return d, nil
}

func (t *commonTexts) keep(d *Document) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.size += len(d.Bytes()); t.known == nil || t.size > mostCommon {
		t.known, t.size = map[string]*Document{}, len(d.Bytes())
	}
	t.known[string(d.Bytes())] = d
}
