// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// An external cluster needs a cloud-controller-manager, and its file need not hold
// one: someone may have installed it with Helm or Fleet. So nothing is added
// unasked.

// lacksManager reports whether the cluster is external and no
// cloud-controller-manager is in its file.
func (m *migration) lacksManager() bool {
	if !m.handedOver() || !m.switching() {
		return false // no control plane is in the file, or the stage comes after the switch
	}
	_, chart, err := m.chart()
	return err == nil && !chart && !m.hasWorkload()
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
