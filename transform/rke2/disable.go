// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
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

// disableUndo gives the chart its flag back. The image stays: it is the one of the
// cluster's minor.
func (m *migration) disableUndo(e *transform.Reverse) {
	ed, chart, found := m.editChart(e.Edit)
	if !m.isExternal() || chart.Migrates() && !m.target.KeepLeaderMigration {
		return
	}
	if k8s.From(m.Version, afterMigrations) {
		e.Fail(transform.Lost(m.move().At, "at Kubernetes "+m.minor()[1:]+" no manager takes part in a migration, so the stage changed the image alone, and the file does not show its earlier tag"))
	}
	switch {
	case !found && m.target.KeepLeaderMigration:
		return
	case !found:
		m.undoWorkload(e, true)
		return
	}
	o := m.chartOptions()
	o.CloudConfig = args.Has(chart.Args(), "cloud-config") // the switch took it off the file
	if m.target.Version == m.Version || !m.installed(chart, o) {
		e.Usual(chart.Root, "the image was this one or that of another release, and the flag was at an unknown place among the arguments")
	}
	if chart.Migrates() {
		return // it was to keep the flag
	}
	m.completeConfig(ed, chart)
	chart.StartMigrating(ed, o)
}
