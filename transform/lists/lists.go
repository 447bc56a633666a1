// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package lists makes lists of lists, and finds items.
//
// Invariant: a result has the order of what it is made of, and shares nothing with it.
package lists

import "slices"

// Map returns what a function makes of each item; nil of none.
func Map[T, U any](list []T, of func(T) U) []U {
	var out []U
	for _, item := range list {
		out = append(out, of(item))
	}
	return out
}

// Find returns the first item that is so.
func Find[T any](list []T, is func(T) bool) (found T, has bool) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i], true
	}
	return found, false
}

// Distinct returns the items without those that repeat, in their order.
func Distinct[T comparable](list []T) (kept []T) {
	for _, item := range list {
		if !slices.Contains(kept, item) {
			kept = append(kept, item)
		}
	}
	return kept
}
