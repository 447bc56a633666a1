// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package course

import "github.com/rke-lm/rke-lm/transform"

// Holds says in words how a cluster stands behind a stage.
func Holds(stage string) string {
	switch stage {
	case transform.GrantMigrationLease:
		return "kube-controller-manager runs the cloud controllers, and may lock the migration lease"
	case transform.EnableLeaderMigration:
		return "kube-controller-manager runs the cloud controllers under the migration lease"
	case transform.InstallCCM, transform.CordonControlPlane:
		return "kube-controller-manager runs the cloud controllers, and the cloud-controller-manager waits for the migration lease"
	case transform.SwitchToExternal, transform.UncordonControlPlane:
		return "the cloud-controller-manager runs the cloud controllers under the migration lease"
	case transform.DisableLeaderMigration, transform.VerifyProviderIDs:
		return "the cloud-controller-manager runs the cloud controllers, and the migration is at its end"
	}
	return "kube-controller-manager runs the cloud controllers, as before the migration"
}

// Between says how a cluster stands that stopped inside of a stage, by what its
// object says: Rancher goes on with a change although nobody waits for it.
func Between(position, stage string, edited bool) string {
	if !edited {
		return Holds(position)
	}
	return "the change of " + stage + " is in the cluster's object, and Rancher goes on bringing it to the machines; before it, " + Holds(position)
}
