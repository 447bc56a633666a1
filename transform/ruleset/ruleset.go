// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package ruleset holds the rules that several distros have.
//
// Invariant: an id means the same everywhere; where a thing stands, and which
// stages it stops, is the distro's to say.
package ruleset

import (
	"strconv"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
)

// Said is what a rule finds and what to do.
type Said struct{ Message, Fix string }

// Encrypted, Templated and Overlaid refuse a document before there is a cluster.
var (
	Overlaid = transform.Rule{
		ID: transform.RuleOverlaid, Severity: transform.Error, Acceptable: true,
		Doc: "Refused: a kustomization or an overlay of Fleet changes the cluster, so that the file is not what reaches it, and an edit may get lost. Plan what `kubectl kustomize` prints.",
	}
	Encrypted = transform.Rule{
		ID: transform.RuleEncrypted, Severity: transform.Error,
		Doc: "Refused: the file is encrypted with SOPS, and an edit would break its checksum.",
	}
	Templated = transform.Rule{
		ID: transform.RuleTemplated, Severity: transform.Error,
		Doc: "Refused: the file is a template, whose values are not there yet.",
	}
)

// CSIGateStale judges the gate that older pages tell in-tree users to set.
func CSIGateStale(guards []string) transform.Rule {
	return transform.Rule{
		ID: "csi-gate-stale", Severity: transform.Error, Guards: guards, Acceptable: true,
		Doc: "The feature gate CSIMigrationAWS is set to false for Kubernetes 1.25 or later, or named for 1.27 or later, which stops the component. A note at 1.23 and 1.24, where false still works.",
	}
}

// MigrationGateStale judges the gate of leader migration itself.
func MigrationGateStale(guards []string) transform.Rule {
	return transform.Rule{
		ID: "flag-on-external-gate", Severity: transform.Error, Guards: guards, Acceptable: true,
		Doc: "The feature gate ControllerManagerLeaderMigration is named for Kubernetes 1.27 or later, which stops the component, or set to false, which leader migration does not work with.",
	}
}

// LeaderElectionOff judges how a manager asks for its leases.
func LeaderElectionOff(guards []string) transform.Rule {
	return transform.Rule{
		ID: "leader-election-off", Severity: transform.Error, Guards: guards, Acceptable: true,
		Doc: "A manager has leader-elect=false, which silently turns leader migration off, or a lease whose name or timings hide who owns the cloud controllers.",
	}
}

// FlagLeft is for an external kube-controller-manager that keeps the flag.
func FlagLeft(guards []string) transform.Rule {
	return transform.Rule{
		ID: "flag-left-on-kcm", Severity: transform.Error, Guards: guards,
		Doc: "kube-controller-manager is external and keeps enable-leader-migration: it holds the lease and runs nothing, so the cloud-controller-manager never starts its controllers.",
	}
}

// SaidOfFlagLeft is what FlagLeft says.
var SaidOfFlagLeft = Said{
	"kube-controller-manager is external and keeps enable-leader-migration: it wins the migration lease and runs no cloud controller, and the cloud-controller-manager waits forever",
	"remove the flag here",
}

// InTreeGone is for the in-tree provider on a release without it.
func InTreeGone(guards []string) transform.Rule {
	return transform.Rule{
		ID: "in-tree-gone", Severity: transform.Error, Guards: guards,
		Doc: "The provider is aws at Kubernetes 1.27 or later, where the in-tree provider no longer exists.",
	}
}

// SaidOfInTreeGone is what InTreeGone says.
var SaidOfInTreeGone = Said{
	"the provider is aws, which Kubernetes 1.27 and later do not have",
	"migrate on 1.26, before the upgrade",
}

// SaidOfCarried and SaidOfLost are said of a provider's configuration that the stages carry, and
// of one that they do not.
var (
	SaidOfCarried = Said{
		"an external provider will ignore this configuration; the stages carry it to the cloud-controller-manager",
		"nothing, as long as the stages are applied in their order",
	}
	SaidOfLost = Said{
		"an external provider ignores this configuration",
		"carry its content to the cloud-controller-manager as --cloud-config, then --accept cloud-config-lost",
	}
)

// SaidOfRoutes is said of a cloud-controller-manager whose routes are on without a
// range of addresses.
var SaidOfRoutes = Said{
	"routes are on without --cluster-cidr: the manager ends at the moment it gains the lease",
	"add --configure-cloud-routes=false, or --cluster-cidr where the VPC carries pod routes",
}

// SaidOfProvider is said of a cloud-controller-manager of AWS that is told to serve
// another provider.
var SaidOfProvider = Said{
	"--cloud-provider is not aws, as the manager spells it: it exits when it starts",
	"write --cloud-provider=aws",
}

// CCMFlagMissing is for a second owner of the cloud controllers.
func CCMFlagMissing(guards []string) transform.Rule {
	return transform.Rule{
		ID: "ccm-flag-missing", Severity: transform.Error, Guards: guards, Acceptable: true,
		Doc: "A cloud-controller-manager without leader migration is in the file while the provider is still in-tree: two managers run the cloud controllers. A warning with --no-leader-migration.",
	}
}

// NotInFile is the id of CCMNotInFile.
const NotInFile = "ccm-not-in-file"

// CCMNotInFile is for an external cluster whose cloud-controller-manager the file
// does not show.
func CCMNotInFile(guards []string) transform.Rule {
	return transform.Rule{
		ID: NotInFile, Severity: transform.Warning, Guards: guards, Acceptable: true,
		Doc: "The provider is external, and no cloud-controller-manager of AWS is in the file: it was installed by other means, or there is none. Until it is accepted, plan --exit-code gives 1.",
	}
}

// SaidOfNotInFile is what CCMNotInFile says.
var SaidOfNotInFile = Said{
	"the provider is external, and no cloud-controller-manager of AWS is in the file: it was installed by other means, or there is none",
	"look with rke-lm verify whether one runs, then --accept ccm-not-in-file",
}

// TwoOwners is what CCMFlagMissing says.
const TwoOwners = "the cloud-controller-manager runs without leader migration while kube-controller-manager is in-tree: two managers own the cloud controllers"

// Chosen makes findings of CCMFlagMissing warnings where two owners were chosen.
func Chosen(t transform.Target, found []transform.Finding) []transform.Finding {
	if t.NoLeaderMigration {
		for i := range found {
			found[i].Severity, found[i].Fix = transform.Warning, "apply the switch in the same change"
		}
	}
	return found
}

// UnknownProvider refuses an argument by which a component gets a provider that is
// neither aws nor external. of says whose argument it is.
func UnknownProvider(a args.Placed, of string) error {
	return transform.NotMigratable(a.Node, of+" has the cloud provider "+strconv.Quote(a.Value)+", which is neither aws nor external", "write cloud-provider=aws or cloud-provider=external, or remove the argument")
}

// SaidOfIdleConfig and SaidOfSpareConfig are said of a manager's configuration that
// stands without its flag: while the manager is in-tree, and once it is external.
var (
	SaidOfIdleConfig = Said{
		"without enable-leader-migration the manager ignores its configuration, and takes no part in the migration",
		"add enable-leader-migration, or remove the argument",
	}
	SaidOfSpareConfig = Said{
		"an external manager takes no part in the migration, and ignores its configuration",
		"remove the argument once no undo needs it",
	}
)

// LeaseGrant is the id of LeaseGrantMissing.
const LeaseGrant = "lease-grant-missing"

// LeaseGrantMissing is for leader migration that is on before its permission is there.
func LeaseGrantMissing(guards []string) transform.Rule {
	return transform.Rule{
		ID: LeaseGrant, Severity: transform.Warning, Guards: guards, Acceptable: true,
		Doc: "kube-controller-manager has leader migration on, and nothing in the file permits it to lock the migration lease: its cloud controllers run nowhere, unless the permission was granted elsewhere. Of manifests, lint judges those whose file or folder has permissions.",
	}
}

// SaidOfLeaseGrantMissing is what LeaseGrantMissing says.
var SaidOfLeaseGrantMissing = Said{
	"leader migration is on, and nothing in the file permits kube-controller-manager to lock the migration lease: without the permission its cloud controllers run nowhere",
	"apply grant-migration-lease, or check that the cluster has a Role and RoleBinding for the lease",
}

// ProviderRemoved is the id of the rule for clusters that lost their provider.
const ProviderRemoved = "provider-removed"
