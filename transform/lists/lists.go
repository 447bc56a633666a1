// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package lists makes lists of lists and of maps, finds items, by a key as well, and errors of items, returns items where a
// condition holds, joins the first ones, and reads tables.
//
// Invariant: a result has the order of what it is made of, and shares nothing with it.
package lists

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Map returns what a function makes of each item; nil of none.
func Map[T, U any](list []T, of func(T) U) []U {
	var out []U
	for _, item := range list {
		out = append(out, of(item))
	}
	return out
}

// Where returns the items of a list that are so; none for none.
func Where[T any](list []T, is func(T) bool) (found []T) {
	for _, item := range list {
		if is(item) {
			found = append(found, item)
		}
	}
	return found
}

// Flat returns what the items of a list become, in one list; none for none.
func Flat[T, U any](list []T, of func(T) []U) (all []U) {
	for _, item := range list {
		all = append(all, of(item)...)
	}
	return all
}

// Find returns the first item that is so.
func Find[T any](list []T, is func(T) bool) (found T, has bool) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i], true
	}
	return found, false
}

// Found returns what a function finds for the items; nothing for those for which it finds nothing.
func Found[T, U any](list []T, find func(T) (U, bool)) (all []U) {
	for _, item := range list {
		if found, has := find(item); has {
			all = append(all, found)
		}
	}
	return all
}

// Check returns the error of the first item that has one.
func Check[T any](list []T, check func(T) error) error {
	for _, item := range list {
		if err := check(item); err != nil {
			return err
		}
	}
	return nil
}

// If returns some items where a condition holds, and none otherwise.
func If[T any](holds bool, items ...T) []T {
	if holds {
		return slices.Clone(items)
	}
	return nil
}

// Few joins the first words of a list, and counts the others.
func Few(list []string, most int) string {
	text := strings.Join(list[:min(most, len(list))], ", ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Keys returns the keys of maps, each of them once, in their order.
func Keys[K cmp.Ordered, V any](of ...map[K]V) []K {
	all := map[K]bool{}
	for _, m := range of {
		for key := range m {
			all[key] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// By returns the items of a list by a key; of those with one key the last one.
func By[T any, K comparable](list []T, key func(T) K) map[K]T {
	of := make(map[K]T, len(list))
	for _, item := range list {
		of[key(item)] = item
	}
	return of
}

// Distinct returns the items without those that repeat, in their order.
func Distinct[T comparable](list []T) (kept []T) {
	seen := map[T]bool{}
	for _, item := range list {
		if !seen[item] {
			seen[item], kept = true, append(kept, item)
		}
	}
	return kept
}

// Rows yields the words of each line of a table, but for comments, whose first word is #.
func Rows(table string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(table) {
			if words := strings.Fields(line); len(words) > 0 && words[0] != "#" && !yield(words) {
				return
			}
		}
	}
}
