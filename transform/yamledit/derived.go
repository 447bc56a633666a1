// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import "sync"

// derived is what was worked out of a document.
type derived struct {
	mu    sync.Mutex
	known map[any]func() any
}

// Derive returns what follows from a document alone: find works it out when the key is
// asked for the first time. No one may change the result.
func Derive[T any](d *Document, key any, find func() T) T {
	return d.derived.once(key, func() any { return find() })().(T)
}

func (d *derived) once(key any, find func() any) func() any {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = map[any]func() any{}
	}
	if d.known[key] == nil {
		d.known[key] = sync.OnceValue(find)
	}
	return d.known[key]
}
