// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"github.com/rke-lm/rke-lm/transform/stages"
)

// Holds says in words how a cluster stands behind a stage.
func Holds(stage string) string {
	switch stage {
	case stages.GrantMigrationLease:
		return "kube-controller-manager runs the cloud controllers, and may lock the migration lease"
	case stages.EnableLeaderMigration:
		return "kube-controller-manager runs the cloud controllers under the migration lease"
	case stages.InstallCCM, stages.CordonControlPlane:
		return "kube-controller-manager runs the cloud controllers, and the cloud-controller-manager waits for the migration lease"
	case stages.SwitchToExternal, stages.UncordonControlPlane:
		return "the cloud-controller-manager runs the cloud controllers under the migration lease"
	case stages.DisableLeaderMigration, stages.VerifyProviderIDs:
		return "the cloud-controller-manager runs the cloud controllers, and the migration is at its end"
	}
	return "kube-controller-manager runs the cloud controllers, as before the migration"
}

// Edit says whether the change of a stage is in the cluster's object.
type Edit int

// NotWritten is the zero Edit. MayBeWritten is for a request without an answer.
const (
	NotWritten Edit = iota
	MayBeWritten
	Written
)

// Between says who runs the cloud controllers of a cluster after a run that stopped
// inside of a stage: Rancher rolls a change out although the run has ended.
func Between(position, stage string, edit Edit) string {
	switch edit {
	case MayBeWritten:
		return "the change of " + stage + " may be in the cluster's object, and if it is, Rancher rolls it out; before it, " + Holds(position)
	case Written:
		return "the change of " + stage + " is in the cluster's object, and Rancher rolls it out to the machines; before it, " + Holds(position)
	}
	return Holds(position)
}
