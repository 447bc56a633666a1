// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// ChartSources returns where the file may hold charts and their values. The
// documents are those of additionalManifest, perhaps as part of an edit.
func (c *Cluster) ChartSources(docs []*yamledit.Document) helmchart.Sources {
	return helmchart.Sources{Docs: docs, ChartValues: c.RKEConfig().Get("chartValues"), Fields: chartFields(c.Version)}
}

func (c *Cluster) findCharts() ([]ccm.Chart, error) {
	docs, err := c.manifests()
	if err != nil {
		return nil, err
	}
	return ccm.FindAll(c.ChartSources(docs))
}

// chart returns the cluster's HelmChart of the cloud-controller-manager.
func (c *Cluster) chart() (ccm.Chart, bool, error) { return ccm.First(c.charts()) }

// chartFields returns the fields of HelmCharts that a release of RKE2 knows: those of its
// helm-controller, of a minor from which patch on; later minors know
// it from the start (rke2 go.mod at all tags up to v1.36.3+rke2r1; helm-controller
// pkg/apis/helm.cattle.io/v1/types.go: valuesSecrets from v0.16.7, values from
// v0.16.20 and v0.17.0).
func chartFields(version string) helmchart.Fields {
	return helmchart.Fields{
		Values:        k8s.Since(version, "v1.33.11", "v1.34.7", "v1.35.4"),
		ValuesSecrets: k8s.Since(version, "v1.30.12", "v1.31.8", "v1.32.4"),
	}
}
