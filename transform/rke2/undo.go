// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/inlinemanifest"
)

// The reverse of a stage removes what the stage would have written, if it is
// as the stage writes it. transform.Undo proves that the stage would write
// it again; what is decided here is which of several predecessors is meant.

// installUndo takes out the chart that installCCM would write.
func (m *migration) installUndo(e *transform.Reverse) error {
	chart, found, err := m.chart()
	switch {
	case err != nil, !found && m.target.NoLeaderMigration:
		return err
	case !found:
		return m.undoWorkload(e, false)
	}
	text, err := m.newManifest()
	if err != nil {
		return err
	}
	docs, err := m.bundle().Documents()
	if err != nil {
		return err
	}
	ours, all := inlinemanifest.WhereIn(docs, text)
	if !all {
		return transform.Lost(chart.Root, "this HelmChart is not the one that these choices (--chart-version, --ccm-image-tag and the like) install")
	}
	if chart.Overrides() {
		e.Usual(chart.Decider("args").At, "it may have had the arguments of the migration before")
	}
	return m.bundle().Remove(e, ours)
}
