// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"slices"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// valuesOf is the file with the values of the chart, which the operator names: no document of RKE
// does. It comes after the one that names the cluster.
type valuesOf struct {
	doc   *yamledit.Document
	chart ccm.Chart
}

// withValues adds the file to the documents of a cluster.
func withValues(docs []*yamledit.Document, file *yamledit.Document) ([]*yamledit.Document, error) {
	if IsCluster(file) {
		return nil, file.Root().Errorf("this is the configuration of a cluster, and no values file", "name the file that helm reads with --values")
	}
	return append(slices.Clone(docs), file), ccm.CheckValues(file)
}

// isValues reports whether a document is such a file, and not one of RKE.
func isValues(doc *yamledit.Document) bool { return !IsCluster(doc) && ccm.CheckValues(doc) == nil }

// readValues reads the file among the documents of a cluster; nil where there is none.
func readValues(docs []*yamledit.Document) (*valuesOf, error) {
	if len(docs) < 2 {
		return nil, nil
	}
	chart, err := ccm.FromValues(docs[1].Root())
	return &valuesOf{docs[1], chart}, err
}

// checkOneManager refuses a chart next to a manager that addons run.
func (m *migration) checkOneManager() error {
	values := m.target.Values
	if m.file != nil {
		values = m.file.doc
	}
	if values == nil || !m.runsManager() {
		return nil
	}
	return m.get(addonsKey).Errorf("a cloud-controller-manager is among the addons, and "+values.File()+" has the values for another one", "remove --ccm-values, or the manager from the addons")
}

// Manager implements transform.Cluster.
func (m *migration) Manager() yamledit.Node {
	switch {
	case m.file != nil:
		return m.file.doc.Root()
	case m.runsManager():
		return m.get(addonsKey)
	}
	return yamledit.Node{}
}

// finalTag returns the image tag that the chart has to have at the end, or "" to keep the one it
// has.
func (m *migration) finalTag() string {
	return m.file.chart.FinalTag(m.target, Name, semver.MajorMinor(m.Version))
}

// oldImage reports whether the file has an image of an earlier minor.
func (m *migration) oldImage() bool { return m.file != nil && m.finalTag() != "" }

// chartNodes returns what the scheduler sees of the control planes. RKE gives those that the file
// does not list the same labels and taints.
func (m *migration) chartNodes() []ccm.NodeClass {
	if classes := m.controlPlaneNodes(); len(classes) > 0 {
		return classes
	}
	return []ccm.NodeClass{nodeClass(node{Role: []string{controlPlaneRole, "etcd"}})}
}

// valuesFinding returns a finding about the value at a path, or about the file where it has none.
func (m *migration) valuesFinding(message, fix string, path ...string) transform.Finding {
	root := m.file.doc.Root()
	for i := len(path); i > 0; i-- {
		if n := root.Get(path[:i]...); n.Exists() {
			return transform.FindingAt(n, message, fix)
		}
	}
	return transform.FindingAt(root, message, fix)
}

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
