// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
)

// SetProviderIDs is the stage that gives Nodes which joined without a cloud provider a
// provider ID of AWS.
const SetProviderIDs = "set-provider-ids"

// Only a cluster that ran without cloud controllers has such Nodes: in-tree kubelets wrote the
// provider ID themselves.
var identifyNodes = Stage{
	Name: SetProviderIDs, Leader: atTheEnd, late: true, conditional: true,
	past:  func(s Observed) bool { return s.Identified },
	undo:  func(Observed) bool { return false },
	after: func(transform.Target) Check { return verified(SetProviderIDs) },
}

func setProviderIDs() transform.Stage {
	return transform.Stage{
		Why: "A Node that joined while the cluster had no cloud provider has no provider ID, and one that joined while RKE2's stub ran has rke2://. Load balancers do not use such Nodes, and their volumes have no zone. " +
			"A provider ID is set once and never changes, so this stage cannot be undone.",
		After: []action.Action{action.InitializeNodes(), action.RegisterNodes()},
	}
}

// VerifyProviderIDs is the last stage: checks alone.
const VerifyProviderIDs = "verify-provider-ids"

var verification = Stage{
	Name: VerifyProviderIDs, Leader: atTheEnd, ChecksAlone: true,
	undo: func(Observed) bool { return false },
	after: func(transform.Target) Check {
		return Check{Stage: VerifyProviderIDs, AtLeast: SwitchToExternal, Lease: Remaining, Manager: true, External: true}
	},
}

// verified is what has to hold after a stage of a cluster that is external already: what holds in the end.
func verified(stage string) Check {
	c := verification.after(transform.Target{})
	c.Stage = stage
	return c
}

func (c Cluster) verify() transform.Stage {
	after := []action.Action{action.ProviderIDs()}
	if by := After(VerifyProviderIDs, c.Target).Lease; c.Target.Situation.HasInTreeProvider() {
		after = append(after, leases(by.shows(), c.Target.Lease()))
	}
	return transform.Stage{
		Why:   "An existing provider ID proves little, because in-tree kubelets wrote it and it never changes; unchanged names and no taint prove that the nodes are the same.",
		After: after,
	}
}
