// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// Link is how Rancher finds the Node of a machine again that registered with another provider
// ID. Cluster API looks for the Node by the ID in the object of the machine's infrastructure, says
// some time later that it does not find it, and Rancher writes that ID only where there is none
// (rancher pkg/controllers/capr/machinenodelookup, cluster-api
// internal/controllers/machine/machine_controller_phases.go).
type Link struct {
	Object        corev1.ObjectReference
	Before, After string // provider IDs
	Why           string
}

// Relink returns the first that is missing.
func Relink(machines []rollout.Machine, nodes []observed.Node) (Link, bool) {
	for _, m := range machines {
		if m.Deleting || m.ProviderID == "" {
			continue
		}
		for _, n := range nodes {
			if n.Name == m.Node && n.ProviderID != m.ProviderID && n.IsAWS() && !strings.Contains(n.ProviderID, redact.Mark) {
				return Link{m.Infrastructure, m.ProviderID, n.ProviderID,
					"Rancher looks for the node " + n.Name + " by the provider ID " + m.ProviderID + ", which it had before: give the machine " + m.Name + " the provider ID of the node"}, true
			}
		}
	}
	return Link{}, false
}

// Command is the one that a person runs.
func (l Link) Command(namespace string) string {
	group, version, _ := strings.Cut(l.Object.APIVersion, "/")
	return "# on Rancher's own cluster:\n  " + action.Command(`kubectl -n %s patch %s.%s.%s/%s --type=merge -p %s`, namespace, l.Object.Kind, version, group, l.Object.Name, `{"spec":{"providerID":"`+l.After+`"}}`)
}

// Patch is the same for an API server. It fits only the ID of before.
func (l Link) Patch() jsonpatch.Patch {
	const at = "/spec/providerID"
	before, _ := json.Marshal(l.Before) // a string cannot fail
	after, _ := json.Marshal(l.After)
	return jsonpatch.Patch{{Op: jsonpatch.Test, Path: at, Value: before}, {Op: jsonpatch.Replace, Path: at, Value: after}}
}

// Unlinked names the first machine whose Node Rancher does not find, or "".
func Unlinked(machines []rollout.Machine) string {
	m, _ := lists.Find(machines, func(m rollout.Machine) bool { return m.Unlinked && !m.Deleting })
	return m.Name
}
