// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import "slices"

// Unseen divides the findings about a cluster into those about its documents, and those
// about documents that were not given: what cannot be seen is said, and not assumed.
func Unseen(d Distro, all []Finding) (own, unseen []Finding) {
	for _, f := range all {
		if slices.ContainsFunc(d.Rules, func(r Rule) bool { return r.OtherDocument && r.ID == f.Rule }) {
			unseen = append(unseen, f)
		} else {
			own = append(own, f)
		}
	}
	return own, unseen
}
