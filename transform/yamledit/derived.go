// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import "sync"

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
