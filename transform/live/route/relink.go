// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"strings"

	"github.com/rke-lm/rke-lm/transform/live/observation"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/shell"
)

// Relink says how Rancher finds the Node of a machine again that registered with another
// provider ID. Cluster API looks for the Node by the ID in the object of the machine's
// infrastructure, says some time later that it does not find it, and Rancher writes that ID
// only where there is none (rancher
// pkg/controllers/capr/machinenodelookup, cluster-api
// internal/controllers/machine/machine_controller_phases.go). The command is empty where
// there is nothing to do.
func Relink(namespace string, machines []rollout.Machine, nodes []observation.Node) (command, why string) {
	for _, m := range machines {
		if m.Deleting || m.ProviderID == "" {
			continue
		}
		for _, n := range nodes {
			if n.Name != m.Node || n.ProviderID == m.ProviderID || !strings.HasPrefix(n.ProviderID, "aws://") {
				continue
			}
			object := m.Infrastructure
			group, version, _ := strings.Cut(object.APIVersion, "/")
			return "# on Rancher's own cluster:\n  " + shell.Line(`kubectl -n %s patch %s.%s.%s/%s --type=merge -p %s`, namespace, object.Kind, version, group, object.Name, `{"spec":{"providerID":"`+n.ProviderID+`"}}`),
				"Rancher looks for the node " + n.Name + " by the provider ID " + m.ProviderID + ", which it had before: give the machine " + m.Name + " the provider ID of the node"
		}
	}
	return "", ""
}

// Unlinked names the first machine whose Node Rancher does not find, or "".
func Unlinked(machines []rollout.Machine) string {
	for _, m := range machines {
		if m.Unlinked && !m.Deleting {
			return m.Name
		}
	}
	return ""
}
