// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// valuesFor returns the values with which helm installs the chart: those for the cluster's minor,
// or a copy of the operator's own file with what the options require.
func (m *migration) valuesFor(o ccm.Options) (string, error) {
	if m.target.Values == nil {
		text, _ := ccm.Values(o, m.controlPlaneNodes())
		return text, nil
	}
	return written(m.completed(o))
}

// finalValuesFor returns those after the migration.
func (m *migration) finalValuesFor(o ccm.Options) (string, error) {
	if m.target.Values == nil {
		return m.valuesFor(o)
	}
	doc, err := m.completed(o)
	if err != nil {
		return "", err
	}
	return written(edited(doc, func(c ccm.Chart, e *yamledit.Edit) {
		c.StopMigrating(ccm.Edits{File: e}, c.FinalTag(m.target, Name, o.Minor), m.target.KeepLeaderMigration)
	}))
}

// written is the text of a values file that could be edited.
func written(values *yamledit.Document, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return string(values.Bytes()), nil
}

// completed is the operator's own file with what the options require.
func (m *migration) completed(o ccm.Options) (*yamledit.Document, error) {
	return edited(m.target.Values, func(c ccm.Chart, e *yamledit.Edit) { c.CompleteValues(e, o, m.chartNodes()) })
}

// edited is a values file after an edit.
func edited(values *yamledit.Document, queue func(ccm.Chart, *yamledit.Edit)) (*yamledit.Document, error) {
	chart, err := ccm.FromValues(values.Root())
	if err != nil {
		return nil, err
	}
	e := values.Edit()
	queue(chart, e)
	after, _, err := e.Apply()
	return after, err
}

// copyWhy says what becomes of the operator's own file.
func (m *migration) copyWhy() string {
	if m.target.Values == nil {
		return ""
	}
	return " helm gets a copy of " + m.target.Values.File() + " with what the stage requires: put the same into the file, or the next upgrade of the release reverts it; plan --cluster with --out writes the copy."
}

// checkOwnValues refuses a file of the operator that cannot be completed, before a stage needs it.
func (m *migration) checkOwnValues() error {
	if m.target.Values == nil {
		return nil
	}
	_, err := m.completed(m.chartOptions(m.Version))
	return err
}
