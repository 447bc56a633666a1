// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
)

// Needs returns what of the table of rights a plan needs that not every cluster does.
func Needs(p *transform.Plan) []string {
	var when []string
	for _, s := range p.Steps {
		for _, a := range slices.Concat(s.Stage.Before, s.Stage.After, s.Stage.UndoBefore, s.Stage.UndoAfter) {
			if a.Needs != "" {
				when = append(when, a.Needs)
			}
		}
	}
	slices.Sort(when)
	return slices.Compact(when)
}
