// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import "time"

// ages remembers when pods and identities were first seen. A process takes a new
// identity when it starts, so a pod that came later is not that of an identity
// that was there before.
type ages struct {
	first map[string]time.Time
	began bool // a first look was taken
}

// of returns when something was first seen; zero for the first look.
func (a *ages) of(what string, now time.Time) time.Time {
	if at, known := a.first[what]; known {
		return at
	}
	if a.first == nil {
		a.first = map[string]time.Time{}
	}
	if !a.began {
		now = time.Time{}
	}
	a.first[what] = now
	return now
}
