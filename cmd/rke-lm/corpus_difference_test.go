// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// difference is one place at which two values differ. What is not there has the
// value absent.
type difference struct {
	path          string // spec.list[].key
	was, is       []any  // the path to it in either value: keys and indexes
	before, after any
}

type absence struct{}

var absent = absence{}

// differences compares two values as YAML readers return them. Members of lists
// are paired so that the fewest values differ.
func differences(before, after any) []difference { return differ(difference{}, before, after) }

func differ(at difference, before, after any) []difference {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			return at.ofMaps(b, a)
		}
	case []any:
		if a, ok := after.([]any); ok {
			return at.ofLists(b, a)
		}
	}
	at.before, at.after = before, after
	return []difference{at}
}

// spot names a place by the path to it: spec.list[2].key.
func spot(path []any) string {
	var b strings.Builder
	for _, next := range path {
		switch next := next.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", next)
		default:
			fmt.Fprintf(&b, ".%s", next)
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

func (at difference) key(key string) difference {
	path := at.path + "." + key
	if at.path == "" {
		path = key
	}
	return difference{path: path, was: step(at.was, key), is: step(at.is, key)}
}

func (at difference) item(i, j int) difference {
	return difference{path: at.path + "[]", was: step(at.was, i), is: step(at.is, j)}
}

func step(path []any, next any) []any { return append(slices.Clip(path), next) }

func (at difference) ofMaps(before, after map[string]any) []difference {
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	var found []difference
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		found = append(found, differ(at.key(key), member(before, key), member(after, key))...)
	}
	return found
}

func member(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return absent
}

func (at difference) ofLists(before, after []any) []difference {
	skip := 0
	for skip < min(len(before), len(after)) && reflect.DeepEqual(before[skip], after[skip]) {
		skip++
	}
	p := pairing{at: at, before: before, after: after, best: map[[2]int][]difference{}}
	return p.from(skip, skip)
}

// pairing finds the cheapest path from one list to another.
type pairing struct {
	at            difference
	before, after []any
	best          map[[2]int][]difference
}

// from compares what is left of the lists from i and j on.
func (p *pairing) from(i, j int) []difference {
	if i == len(p.before) && j == len(p.after) {
		return nil
	}
	if known, ok := p.best[[2]int{i, j}]; ok {
		return known
	}
	var options [][]difference
	if i < len(p.before) && j < len(p.after) {
		same := differ(p.at.item(i, j), p.before[i], p.after[j])
		options = append(options, slices.Concat(same, p.from(i+1, j+1)))
	}
	if i < len(p.before) {
		options = append(options, slices.Concat(differ(p.at.item(i, j), p.before[i], absent), p.from(i+1, j)))
	}
	if j < len(p.after) {
		options = append(options, slices.Concat(differ(p.at.item(i, j), absent, p.after[j]), p.from(i, j+1)))
	}
	cheapest := slices.MinFunc(options, func(a, b []difference) int { return costOf(a) - costOf(b) })
	p.best[[2]int{i, j}] = cheapest
	return cheapest
}

func costOf(found []difference) int {
	sum := len(found)
	for _, d := range found {
		sum += weight(d.before) + weight(d.after)
	}
	return sum
}

// weight counts the values in a value.
func weight(v any) int {
	sum := 1
	switch v := v.(type) {
	case absence:
		return 0
	case map[string]any:
		for _, m := range v {
			sum += weight(m)
		}
	case []any:
		for _, m := range v {
			sum += weight(m)
		}
	}
	return sum
}
