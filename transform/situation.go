// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

// Situation is what a cluster's release and its provider leave of a migration. The
// in-tree provider ended with Kubernetes 1.26: later releases have no manager to migrate
// from, and leader migration has nothing to migrate.
type Situation string

const (
	// InTree is a cluster whose kube-controller-manager runs the cloud controllers, or ran
	// them when its migration began.
	InTree Situation = "in-tree"
	// Broken is a cluster of 1.27 or later whose components get the provider aws: they do
	// not start. Machines that were not upgraded yet still run the in-tree controllers.
	Broken Situation = "broken"
	// NamesOnly is a cluster of RKE2 that runs without a cloud provider: aws only takes the
	// names of nodes from the instance metadata.
	NamesOnly Situation = "names-only"
	// External is a cluster of 1.27 or later that is external, and whose documents have
	// nothing of leader migration.
	External Situation = "external"
	// Rescued is an external cluster of a release on which it was broken, if it ever was aws.
	Rescued Situation = "rescued"
)

// SwitchFirst reports whether the switch comes before the cloud-controller-manager: its machines
// may have control planes that still run the in-tree controllers.
func (s Situation) SwitchFirst() bool { return s == Broken || s == Rescued }

// HasInTreeProvider reports whether one manager hands the cloud controllers to the other one.
// A situation that was not decided on is taken for the usual one.
func (s Situation) HasInTreeProvider() bool { return s == "" || s == InTree }

// In is the choice for a cluster in a situation: it is decided once, for the documents as
// they are given, and kept while stages change them. Without an in-tree manager there is
// no leader migration.
func (t Target) In(s Situation) Target {
	if t.Situation != "" {
		return t
	}
	t.Situation = s
	if !s.HasInTreeProvider() {
		t.NoLeaderMigration, t.KeepLeaderMigration, t.LeaderMigrationConfig = true, false, ""
	}
	return t
}
