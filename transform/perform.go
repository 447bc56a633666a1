// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import "github.com/rke-lm/rke-lm/transform/yamledit"

// Perform returns the documents of a cluster after some of its stages alone, in their
// order: what a change has that performs these stages and nothing else.
func Perform(d Distro, docs []*yamledit.Document, target Target, names []string) ([]*yamledit.Document, error) {
	c, err := d.Open(docs, target)
	if err != nil {
		return nil, err
	}
	target = c.Chosen()
	for _, name := range names {
		s, found := stageOf(c.Stages(), name)
		if !found {
			return nil, notAmong(name)
		}
		edit, err := s.Edit()
		if err != nil {
			return nil, err
		}
		step := PlannedStage{Stage: s}
		if step.Documents, err = revise(c.Documents(), edit); err != nil {
			return nil, err
		}
		if c, err = d.Open(step.After(), target); err != nil {
			return nil, err
		}
	}
	return c.Documents(), nil
}
