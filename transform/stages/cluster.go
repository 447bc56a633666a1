// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// Cluster is what stages have to know of a cluster, whatever its format.
type Cluster struct {
	Target transform.Target
	// Selector matches the control planes, on which the DaemonSet of the chart runs; "" for
	// a cloud-controller-manager of another manifest.
	Selector string
	// Electors are the managers in the documents.
	Electors Electors
}

// Set is what a format makes of the stages for one cluster.
type Set struct {
	Grant, Enable, Install, Cordon, Switch, Uncordon, Disable func() transform.Stage

	UpgradeKubernetes, UpgradeCCM func() transform.Stage // of an upgrade
}

// InOrder returns the stages of a cluster, by their names and in their order.
func (c Cluster) InOrder(set Set) []transform.Listed {
	of := map[string]func() transform.Stage{
		GrantMigrationLease: set.Grant, EnableLeaderMigration: set.Enable, InstallCCM: set.Install,
		CordonControlPlane: set.Cordon, SwitchToExternal: set.Switch, UncordonControlPlane: set.Uncordon, DisableLeaderMigration: set.Disable,
		SetProviderIDs: setProviderIDs, VerifyProviderIDs: c.verify,
		UpgradeKubernetes: set.UpgradeKubernetes, UpgradeCCM: set.UpgradeCCM,
	}
	return lists.Map(order(c.Target), func(s *Stage) transform.Listed {
		return transform.List(s.Name, func() transform.Stage {
			own := of[s.Name]()
			own.Name = s.Name
			if !own.NoGap {
				own.Gap = c.gap(s)
			}
			own.Uncounted = own.Uncounted || s.ChecksAlone || s.conditional || Around(s.Name)
			return own
		})
	})
}

// InOtherDocument is a stage that happens in another document, or not at all.
func InOtherDocument(why string, inspect ...action.Action) transform.Stage {
	return transform.Stage{Why: why, After: inspect}
}
