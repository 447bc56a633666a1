// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package assert

import (
	"errors"
	"fmt"
	"testing"
)

// recorder records what fails a test.
type recorder struct {
	testing.TB
	failed string
}

func (*recorder) Helper() {}

func (r *recorder) Fatal(args ...any) { r.failed = "ended: " + fmt.Sprint(args...) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = "ended: " + fmt.Sprintf(format, args...)
}

func (r *recorder) Error(args ...any) { r.failed = fmt.Sprint(args...) }

func (r *recorder) Errorf(format string, args ...any) { r.failed = fmt.Sprintf(format, args...) }

func TestWhatDoesNotHoldFails(t *testing.T) {
	for want, check := range map[string]func(testing.TB){
		"": func(t testing.TB) {
			NilError(t, nil)
			Equal(t, 1, 1)
			DeepEqual(t, []int{1}, []int{1})
			EqualSlices(t, nil, []int{})
			Contains(t, "ab", "b")
			ErrorContains(t, errors.New("ab"), "b")
			True(t, true)
			Mustf(t, true, "")
		},
		"ended: gone":           func(t testing.TB) { Value(1, errors.New("gone"))(t) },
		"it 2\ngot\na\nwant\nb": func(t testing.TB) { Equal(t, "a", "b", "it", 2) },
		"(-want +got):":         func(t testing.TB) { DeepEqual(t, 1, 2) },
		"it\ngot\n[1]":          func(t testing.TB) { EqualSlices(t, []int{1}, nil, "it") },
		`no "b" in`:             func(t testing.TB) { Contains(t, "a", "b") },
		`no "b" in the error`:   func(t testing.TB) { ErrorContains(t, errors.New("a"), "b") },
		"it\nno \"b\" in the":   func(t testing.TB) { Error(1, nil)(t, "b", "it") },
		"{A:1}":                 func(t testing.TB) { True(t, false, struct{ A int }{1}) },
		"2 of 3":                func(t testing.TB) { Truef(t, false, "%d of %d", 2, 3) },
		"ended: why":            func(t testing.TB) { Must(t, false, "why") },
		"ended: 1":              func(t testing.TB) { Mustf(t, false, "%d", 1) },
	} {
		r := &recorder{}
		if check(r); len(r.failed) < len(want) || r.failed[:len(want)] != want || want == "" && r.failed != "" {
			t.Errorf("%q, want %q", r.failed, want)
		}
	}
}
