// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import "testing"

func TestAMachineHasOneServiceOfRKE2(t *testing.T) {
	d := &Downstream{Machines: []Machine{{Name: "a", Node: "a", ControlPlane: true}, {Name: "b", Node: "b", Worker: true}}}
	for node, service := range map[string]string{"a": "rke2-agent", "b": "rke2-server", "c": "rke2-agent"} {
		if err := d.Restart(t.Context(), node, service); err == nil {
			t.Errorf("the machine of %s has the service %s", node, service)
		}
	}
}
