// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/inlinemanifest"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The reverse of a stage removes what the stage would have written, if it is
// as the stage writes it. transform.Undo proves that the stage would write
// it again; what is decided here is which of several predecessors is meant.

// installUndo takes out the chart that installCCM would write.
func (m *migration) installUndo() (*yamledit.Edit, error) {
	e := m.Doc.Edit()
	chart, found, err := m.chart()
	switch {
	case err != nil, !found && m.target.NoLeaderMigration:
		return e, err
	case !found:
		return e, m.undoWorkload(e, false)
	}
	text, err := m.newManifest()
	if err != nil {
		return nil, err
	}
	docs, err := m.bundle().Documents()
	if err != nil {
		return nil, err
	}
	ours, all := inlinemanifest.WhereIn(docs, text)
	if !all {
		return nil, transform.Lost(chart.Root, "this HelmChart is not the one that these choices (--chart-version, --ccm-image-tag and the like) install")
	}
	if chart.Overrides() {
		at := chart.Decider("args").At
		if err := m.usual(at, "it may have had the arguments of the migration before"); err != nil {
			return nil, err
		}
	}
	return e, m.bundle().Remove(e, ours, m.usual)
}
