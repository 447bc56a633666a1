// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// disableLeaderMigration takes the flag off the chart and moves the image to the
// cluster's minor. The right to the lease stays: a rollback needs it.
func (m *migration) disableLeaderMigration() transform.Stage {
	s := transform.Stage{
		Why:       m.disableWhy(),
		Change:    transform.ChangeOf(m.Doc, m.target, m.disableEdit, m.checkDisable, m.disableUndo),
		Early:     func() bool { return !m.isExternal() || m.lacksManager() },
		NotInFile: m.lacksManager,
	}
	if m.lacksManager() {
		return s
	}
	s.After = []action.Action{stages.Rollout("after the edit, wait for the new pods")}
	s.UndoAfter = []action.Action{stages.Rollout("wait for the new pods")}
	return m.stages().Disable(s, false)
}

func (m *migration) disableWhy() string {
	switch {
	case m.lacksManager():
		return stages.DisableNotInFile
	case !m.configured():
		return m.stages().DisableWhy()
	}
	return m.stages().DisableWhy() + " The configuration leaves the chart as well."
}

func (m *migration) disableEdit(e *yamledit.Edit) {
	ed, chart, found := m.editChart(e)
	switch {
	case !found && m.target.KeepLeaderMigration:
		return
	case !found:
		m.editWorkload(e, false)
		return
	}
	chart.StopMigrating(ed, m.finalTag(chart), m.target.KeepLeaderMigration)
}

// finalTag returns the image tag that the chart has to have at the end, or "".
func (m *migration) finalTag(chart ccm.Chart) string {
	return chart.FinalTag(m.target, Name, m.minor())
}

func (m *migration) checkDisable(after *migration) error {
	if err := m.check(after, unchanged); err != nil {
		return err
	}
	if w, found := after.workload(); found && !m.target.KeepLeaderMigration {
		return checkWorkload(w, false)
	}
	chart, found, err := after.chart()
	if err != nil || !found || m.target.KeepLeaderMigration {
		return err
	}
	return chart.CheckLeft()
}
