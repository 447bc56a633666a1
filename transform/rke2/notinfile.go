// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"github.com/rke-lm/rke-lm/transform"
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
	return m.handedOver() && m.switching() && !m.Manager().Exists()
}

// Manager implements transform.Cluster. What cannot be read may hold one.
func (m *migration) Manager() yamledit.Node {
	_, chart, err := m.chart()
	if _, own := m.workload(); err == nil && !chart && !own {
		return yamledit.Node{}
	}
	return m.RKEConfig().Get(manifestKey)
}

func (m *migration) ccmNotInFile() []transform.Finding {
	if !m.lacksManager() {
		return nil
	}
	at := m.RKEConfig()
	for _, c := range m.Classes {
		if c.ControlPlane() {
			at = m.Effective(c).providerOrigin(managerArgs)
			break
		}
	}
	return rules.CCMNotInFile.At(at, "or add the chart with "+addsChart())
}
