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

func (r *recorder) Errorf(format string, args ...any) { r.failed = fmt.Sprintf(format, args...) }

func TestWhatDoesNotHoldFails(t *testing.T) {
	for want, check := range map[string]func(testing.TB){
		"":                      func(t testing.TB) { NilError(t, nil); Equal(t, 1, 1); DeepEqual(t, []int{1}, []int{1}) },
		"ended: gone":           func(t testing.TB) { Value(1, errors.New("gone"))(t) },
		"it 2\ngot\na\nwant\nb": func(t testing.TB) { Equal(t, "a", "b", "it", 2) },
		"(-want +got):":         func(t testing.TB) { DeepEqual(t, 1, 2) },
	} {
		r := &recorder{}
		if check(r); len(r.failed) < len(want) || r.failed[:len(want)] != want || want == "" && r.failed != "" {
			t.Errorf("%q, want %q", r.failed, want)
		}
	}
}
