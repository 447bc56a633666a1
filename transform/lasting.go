// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"fmt"
	"slices"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Lasting requires of the documents after stages that none of them is left to do:
// each was proven on the way, and a later one may have taken its result away.
func Lasting(d Distro, after []*yamledit.Document, target Target, stages []string) error {
	if len(stages) == 0 {
		return nil
	}
	last := stages[len(stages)-1]
	p, err := BuildFor(d, after, target, Choice{Stage: last, Through: true})
	if err != nil {
		return err
	}
	for _, s := range p.Steps {
		if s.Left() && slices.Contains(stages, s.Stage.Name) {
			return after[0].Root().Errorf(fmt.Sprintf("stage %s would still be todo after the edit", s.Stage.Name), "nothing was written; check the document for a contradicting value, and make this change manually")
		}
	}
	return nil
}
