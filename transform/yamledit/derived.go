// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import "sync"

// memory is what was worked out and need not be again.
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
// for a document and those that edits make of it: most of their texts are the same.
func Recall[T any](d *Document, text []byte, read func() T) T {
	all := d.texts.readings.once((*T)(nil), func() any { return &readings[T]{known: map[string]T{}} })().(*readings[T])
	all.mu.Lock()
	v, known := all.known[string(text)]
	all.mu.Unlock()
	if known {
		return v
	}
	v = read() // which may ask for texts inside of this one
	all.mu.Lock()
	defer all.mu.Unlock()
	all.known[string(text)] = v
	return v
}

// readings are what texts were read as.
type readings[T any] struct {
	mu    sync.Mutex
	known map[string]T
}
