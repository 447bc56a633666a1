// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// opened is a cluster and its stages. Neither changes.
type opened struct {
	transform.Cluster
	stages []transform.Listed
}

func open(d transform.Format, docs []*yamledit.Document, target transform.Target) (*opened, error) {
	c, err := d.Open(docs, target)
	if err != nil {
		return nil, err
	}
	return &opened{c, c.Stages()}, nil
}

// evaluate returns how far stage i is, and its edit if that is to be applied.
func (c *opened) evaluate(i int, choice Choice) (State, *yamledit.Edit, error) {
	s, state := c.stages[i].Stage(), Done
	if s.Skipped != nil && s.Skipped() {
		state = Skipped
	}
	if s.NotInFile != nil && s.NotInFile() {
		if s.Edit == nil || !choice.names(s.Name) {
			return NotInFile, nil, nil
		}
		state = NotInFile
	}
	if s.Edit == nil {
		return ActionOnly, nil, nil
	}
	superseded, err := c.superseded(i)
	if err != nil || superseded {
		return state, nil, err
	}
	edit, err := s.Edit()
	if err != nil || edit.Empty() {
		return state, nil, err
	}
	return state, edit, nil
}

// superseded reports whether a later stage that leaves nothing to do for stage i is
// done.
func (c *opened) superseded(i int) (bool, error) {
	for _, name := range c.stages[i].Stage().SupersededBy {
		s, found := stageOf(c.stages[i+1:], name)
		if !found || s.Early != nil && s.Early() {
			continue
		}
		if edit, err := s.Edit(); err != nil || edit.Empty() {
			return err == nil, err
		}
	}
	return false, nil
}
