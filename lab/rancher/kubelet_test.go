// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
)

func TestAMachineHasOneServiceOfRKE2(t *testing.T) {
	d := &Downstream{Machines: []Machine{{Machine: ranchertest.Machine{Name: "a", ControlPlane: true}, Node: "a"}, {Machine: ranchertest.Machine{Name: "b", Worker: true}, Node: "b"}}}
	for node, service := range map[string]string{"a": "rke2-agent", "b": "rke2-server", "c": "rke2-agent"} {
		if err := d.Restart(t.Context(), node, service); err == nil {
			t.Errorf("the machine of %s has the service %s", node, service)
		}
	}
}
