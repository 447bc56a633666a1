// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package lists makes lists of lists.
//
// Invariant: a result has the order of what it is made of, and shares nothing with it.
package lists

// Map returns what a function makes of each item; nil of none.
func Map[T, U any](list []T, of func(T) U) []U {
	var out []U
	for _, item := range list {
		out = append(out, of(item))
	}
	return out
}
