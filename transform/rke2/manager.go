// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/rules"
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

// A cloud-controller-manager may run from a DaemonSet or Deployment among the
// manifests instead of the chart. The chart would make a DaemonSet of the same
// name, and Helm takes over no objects; so the stages change the workload's flag,
// and leave all else about it to its author.

// workload returns it, if it is used instead of the chart.
func (m *migration) workload() (ccm.Workload, bool) {
	if _, found, err := m.chart(); found || err != nil {
		return ccm.Workload{}, false
	}
	docs, _ := m.manifests()
	return ccm.FindWorkload(docs)
}

// editWorkload queues that it takes part in the migration, or that it no longer
// does. found is false where there is none.
func (m *migration) editWorkload(e *yamledit.Edit, migrates bool) (found bool) {
	w, found := m.workload()
	if !found {
		return false
	}
	if migrates && m.configured() {
		e.Fail(w.Container.Errorf("this cloud-controller-manager runs without the chart, so rke-lm does not add its configuration", "remove --leader-migration-config, or mount the one that rke-lm leader-migration-config prints"))
	}
	in, err := e.Embedded(m.Bundle().At())
	if err == nil {
		w, _ = ccm.FindWorkload(in.Documents()) // the same, as nodes of the edit
		err = w.Migrate(in, migrates, m.target.ShortLeases)
	}
	e.Fail(err)
	return true
}

// checkWorkload requires the flag, or that it is gone.
func checkWorkload(w ccm.Workload, migrates bool) error {
	return transform.Require(w.Migrates() == migrates, "the cloud-controller-manager would not have the expected --%s", ccm.LeaderFlag)
}

// undoWorkload queues the reverse of a stage that gave or took the flag.
func (m *migration) undoWorkload(e *transform.Reverse, migrates bool) {
	if w, found := m.workload(); found && w.Migrates() != migrates {
		e.Usual(w.Container, "the flag --"+ccm.LeaderFlag+" may have existed before, at any place among the arguments")
		m.editWorkload(e.Edit, migrates)
	}
}

// An external cluster needs a cloud-controller-manager, and its file need not hold
// one: someone may have installed it with Helm or Fleet. So nothing is added
// unasked.

// lacksManager reports whether the cluster is external and no
// cloud-controller-manager is in its file.
func (m *migration) lacksManager() bool {
	// Without the second no control plane is in the file, or the stage comes after the switch.
	return m.isSwitched() && m.switching() && !m.Manager().Exists()
}

// Manager implements transform.Cluster. What cannot be read may hold one.
func (m *migration) Manager() yamledit.Node {
	_, chart, err := m.chart()
	if _, own := m.workload(); err == nil && !chart && !own {
		return yamledit.Node{}
	}
	return m.RKEConfig().Get(manifestKey)
}

// checkCloud refuses an external cluster that shows another cloud, and nothing of AWS.
func (m *migration) checkCloud() error {
	if !m.lacksManager() {
		return nil
	}
	docs, _ := m.manifests()
	if name := ccm.OtherManager(docs); name != "" {
		return transform.NothingToMigrate(m.RKEConfig().Get(manifestKey), "the provider is external, and "+name+" is the cloud-controller-manager of another cloud")
	}
	var driver yamledit.Node
	for _, c := range m.Classes {
		driver = c.Pool.Get("machineConfigRef", "kind")
		if kind, _ := driver.String(); kind == "" || kind == aws.MachineConfigKind {
			return nil
		}
	}
	return transform.NothingToMigrate(driver, "the provider is external, and no machine pool is one of AWS")
}

func (m *migration) ccmNotInFile(found *transform.Findings) {
	if !m.lacksManager() || m.checkCloud() != nil {
		return
	}
	at := m.RKEConfig()
	if c, has := lists.Find(m.Classes, effective.Class.ControlPlane); has {
		at = m.Effective(c).ProviderOrigin(managerArgs)
	}
	rules.NotInFile(at, "or, on AWS, add the chart with "+addsChart(), found)
}
