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
