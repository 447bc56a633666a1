// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import "errors"

// tries is how often a change is made of an object that Rancher keeps rewriting.
const tries = 5

// Again makes a change. Where the object means what it meant, and Rancher has written it
// in another form since it was read, next reads it and makes the change of what is there
// now; what is not the same change is not made.
func Again[T any](change T, do func(T) error, next func() (T, error), same func(before, now T) bool) error {
	for n := 1; ; n++ {
		err := do(change)
		if stale, is := errors.AsType[*Stale](err); n == tries || !is || !stale.Rewritten {
			return err
		}
		now, failed := next()
		switch {
		case failed != nil:
			return failed
		case !same(change, now):
			return err
		}
		change = now
	}
}
