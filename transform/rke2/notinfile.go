// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

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
