// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package jsonpatch

import (
	"reflect"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// withoutEmpty is a server that keeps no empty mapping and no null.
func withoutEmpty(a, b any) bool { return reflect.DeepEqual(filled(a), filled(b)) }

func filled(v any) any {
	m, isMap := v.(map[string]any)
	if !isMap {
		return v
	}
	out := map[string]any{}
	for k, inner := range m {
		if inner = filled(inner); inner != nil {
			out[k] = inner
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func TestAPatchHoldsWhereWhatTheServerMadeOfItMeansTheSame(t *testing.T) {
	const before, after = `{"a":{"b":{"c":1}},"d":2}`, `{"a":{},"d":3}`
	p := assert.Value(Diff([]byte(object(before)), []byte(object(after))))(t)
	for _, c := range []struct {
		now          string
		holds, alike bool
	}{
		{after, true, true},
		{`{"a":{"b":{}},"d":3}`, false, true},
		{`{"a":{"b":null},"d":3}`, false, true},
		{`{"d":3}`, true, true},
		{`{"a":{"b":{"c":1}},"d":3}`, false, false},
		{`{"a":{"b":{"c":2}},"d":3}`, false, false},
		{`{"a":{"b":[]},"d":3}`, false, false},
		{`{"a":[],"d":3}`, false, false},
		{before, false, false},
	} {
		assert.Truef(t, p.Applied([]byte(object(c.now)), nil) == c.holds && p.Applied([]byte(object(c.now)), withoutEmpty) == c.alike, "%s: %t and %t", c.now, !c.holds, !c.alike)
	}
	other := []byte(`{"metadata":{"uid":"u-2"},"spec":` + after + `}`)
	assert.True(t, !p.Applied(other, withoutEmpty) && !p.Fits(other, withoutEmpty), "an object that was created again is taken for the one that was patched")
}

func TestAPatchFitsInMeaningWhereTheServerRefusesIt(t *testing.T) {
	const before = `{"a":{"b":{"c":1}}}`
	p := assert.Value(Diff([]byte(object(before)), []byte(object(`{"a":{"b":{"c":1},"d":1}}`))))(t)
	for now, want := range map[string][2]bool{
		before:                            {true, true},
		`{"a":{"b":{"c":1},"e":{}}}`:      {false, true},
		`{"a":{"b":{"c":1}},"x":[1]}`:     {true, true},
		`{"a":{"b":{"c":1},"e":{"f":1}}}`: {false, false},
		`{"a":{"b":{"c":2}}}`:             {false, false},
		`{}`:                              {false, false},
	} {
		_, err := applied(t, p, object(now))
		got := [2]bool{p.Fits([]byte(object(now)), nil), p.Fits([]byte(object(now)), withoutEmpty)}
		assert.Truef(t, got == want && (err == nil) == want[0], "%s: %v %v", now, got, err)
	}
}
