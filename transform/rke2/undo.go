// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The reverse of a stage removes what the stage would have written, if it is
// as the stage writes it. plan.Undo proves that the stage would write
// it again; what is decided here is which of several predecessors is meant.

// installUndo takes out the chart that installCCM would write.
func (m *migration) installUndo(e *transform.Reverse) {
	chart, found, err := m.chart()
	switch {
	case err != nil, !found && m.target.NoLeaderMigration:
		e.Fail(err)
		return
	case !found:
		m.undoWorkload(e, false)
		return
	}
	back := *m
	back.target.ShortLeases = chart.HasShortLeases()
	text, err := back.newManifest()
	e.Fail(err)
	docs, _ := m.manifests() // the chart is among them
	ours, all := leadermigration.WhereIn(docs, text)
	if !all {
		e.Fail(transform.Lost(chart.Root, "this HelmChart is not the one that these choices (--chart-version, --ccm-image-tag and the like) install"))
	}
	if chart.Overrides() {
		e.Usual(chart.Decider("args").At, "it may have had the arguments of the migration before")
	}
	m.bundle().Remove(e, ours)
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

// installed reports whether a chart is the one that installCCM writes, but for
// the flag.
func (m *migration) installed(chart ccm.Chart, o ccm.Options) bool {
	if chart.Overrides() {
		return false
	}
	o.LeaderMigration, o.MigrationConfig, o.ShortLeases = chart.Migrates(), chart.OwnConfig(), chart.HasShortLeases()
	text, ok := ccm.Manifest(o, m.controlPlaneNodes())
	_, all := leadermigration.WhereIn([]*yamledit.Document{chart.Root.Document()}, text)
	return ok && all
}
