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
