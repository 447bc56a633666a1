// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package leadermigration

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Reader is the manager that reads a configuration, as far as it is known.
type Reader struct {
	Component string // Manager, CloudManager, or ""
	Version   string // of the manager: a release, a minor, or ""
	Lease     string // that the managers may lock, or ""
	NodeIPAM  bool   // the provider's cloud-controller-manager implements it; that of AWS does not
}

const (
	wildcardUnquoted = "wildcard-unquoted"
	leaseNameDiffers = "lease-name-differs"
	notListed        = "controller-not-listed"
)

// RuleNodeIPAM is for nodeipam with a provider that does not have it.
const RuleNodeIPAM = "nodeipam-without-ccm-support"

// NoNodeIPAM is its reason, also where the manager is asked for the controller in another way.
var NoNodeIPAM = transform.Reason{
	Why: "The AWS manager has no nodeipam controller, so new nodes get no pod CIDR.", Source: transform.SourceAWS,
	Repair: "Remove nodeipam from the list.", Accept: "If pod CIDRs are not assigned by Kubernetes, as with most network plugins of Rancher.",
}

type rule = transform.Checked[reading]

// row is the row of a rule; without check its findings are made where the file is read.
func row(id, doc string, check func(reading, *transform.Findings)) rule {
	return transform.Row(id, transform.Error, nil, check, doc)
}

// rules is the one table of what is wrong with configurations. Below 1.36 a
// manager decodes them leniently, so most of it is accepted silently
// (k8s.io/controller-manager/pkg/leadermigration).
func rules() []rule {
	return []rule{
		row("cloud-node-listed", "A LeaderMigrationConfiguration lists cloud-node, which is never migrated: no manager would initialize nodes while the other one holds the lease.", reading.cloudNode).Because(
			"cloud-node initializes nodes and is never migrated: while the other manager holds the lease, new nodes stay uninitialized.", transform.SourceConfiguration, "Remove cloud-node from the list.", "Never during a migration."),
		row("component-mirrored", "A manager's LeaderMigrationConfiguration gives controllers to the other manager: this one holds the lease and does not run them.", reading.mirrored).Because(
			"The manager holds the lease and starts none of the controllers, so that they run nowhere.", transform.SourceConfiguration, "Name this manager, or \"*\", as the component.", "Never during a migration."),
		row(notListed, "A controller that has to move is not in a LeaderMigrationConfiguration, or only in one of the two: that manager runs it regardless of who holds the migration lease.", reading.notListed).Because(
			"A controller that is not listed runs under the manager's own lease, at once and in both managers.", transform.SourceConfiguration, "List service, route and cloud-node-lifecycle under the names of this manager's version.", "If the other manager does not have the controller."),
		row("duplicate-controller", "A LeaderMigrationConfiguration lists a controller twice, and the last entry takes effect.", reading.duplicates).Because(
			"The last entry wins, so that the manager of the first one does not run the controller as intended.", transform.SourceConfiguration, "Remove one of the two entries.", "If both entries name the same component."),
		row("empty-leader-list", "A LeaderMigrationConfiguration lists no controllers, so that both managers run all of them.", reading.empty).Because(
			"Nothing is under the migration lease, so both managers run all controllers.", transform.SourceConfiguration, "List the controllers, or remove the file: the managers have a default configuration.", "Never while two managers run."),
		row(leaseNameDiffers, "The leaderName of a LeaderMigrationConfiguration is absent, or differs from that of the other manager: with two leases both managers run the controllers.", reading.lease).Because(
			"With two leases both managers are the only candidate of their own one, and both run the controllers.", transform.SourceConfiguration, "Set the same leaderName on both sides.", "If the other side is not in the file and has the same name."),
		row(RuleNodeIPAM, "A LeaderMigrationConfiguration lists nodeipam, which the cloud-controller-manager of AWS does not have: no manager would assign pod CIDRs to nodes.", reading.ipam).Because(NoNodeIPAM.Texts()),
		row("resource-lock-extra", "A LeaderMigrationConfiguration of v1 has resourceLock, which is not a field of that version; managers from 1.36 on exit.", reading.lockExtra).Because(
			"Managers from 1.36 on refuse unknown fields of v1, and exit.", transform.SourceConfiguration, "Remove resourceLock.", "Below 1.36 on both sides, also after the next upgrade."),
		row("resource-lock-missing", "A LeaderMigrationConfiguration of v1alpha1 or v1beta1 lacks resourceLock: leases, and the manager exits.", reading.lockMissing).Because(
			"The field is required in v1alpha1 and v1beta1, and the manager exits without it.", transform.SourceConfiguration, "Add resourceLock: leases, or use v1.", "Never; the manager does not start."),
		row("unknown-api-version", "The manager does not support the apiVersion of its LeaderMigrationConfiguration, and exits.", reading.apiVersion).Because(
			"The manager cannot decode the file, and exits.", transform.SourceConfiguration, "Use a version that the manager's release has.", "If the manager is upgraded in the same change."),
		row("unknown-component", "An entry of a LeaderMigrationConfiguration names no manager, so that none starts the controller.", reading.components).Because(
			"An entry for a component that does not exist starts the controller nowhere.", transform.SourceConfiguration, "Use kube-controller-manager, cloud-controller-manager or \"*\".", "Never during a migration."),
		row("unknown-controller", "A LeaderMigrationConfiguration names a controller that the manager has under another name, and that controller runs in both managers. The names changed in 1.28.", reading.unknown).Because(
			"The name matches no controller, so that the real one runs in both managers. The names changed in 1.28.", transform.SourceConfiguration, "Use the names of the manager's own version; `rke-lm leader-migration-config` prints them.", "If the controller of that name belongs to a manager of your own."),
		row("unknown-key", "A LeaderMigrationConfiguration has an unknown key; managers ignore it, and from 1.36 on they exit.", reading.keys).Because(
			"Managers before 1.36 ignore the key, so that what it was meant to set is not set; later ones exit.", transform.SourceConfiguration, "Correct or remove the key.", "Below 1.36, if the key is a note for people."),
		row(wildcardUnquoted, "A component is * without quotes, as in the published example. This is not valid YAML, and the manager exits.", nil).Because(
			"An unquoted * is an alias of YAML: the file cannot be read, and the manager exits.", "yaml.org, 1.2.2, section 7.1", "Quote it: \"*\".", "Never; the manager does not start."),
	}
}

// Rules returns the rules, for tables of rules and for documentation.
func Rules() []transform.Rule {
	return transform.RulesOf(rules())
}

func ruleOf(id string) transform.Rule {
	table := Rules()
	return table[slices.IndexFunc(table, func(r transform.Rule) bool { return r.ID == id })]
}

// reading is a configuration and who reads it.
type reading struct {
	root yamledit.Node
	Reader
}

// Lint checks the configuration of one manager.
func Lint(root yamledit.Node, r Reader) []transform.Finding {
	return transform.FindingsOf(rules(), reading{root, r}, "", nil)
}

// LintBoth checks what the configurations of the two managers say together. Each
// was checked alone before.
func LintBoth(manager, cloud yamledit.Node) []transform.Finding {
	found := append(OtherLease(cloud, manager), NotListed(cloud, manager)...)
	return append(found, NotListed(manager, cloud)...)
}

// OtherLease finds, in a configuration, a lease that is not the other manager's.
func OtherLease(root, other yamledit.Node) []transform.Finding {
	if a, b := root.StringAt("leaderName"), other.StringAt("leaderName"); a == b || a == "" || b == "" {
		return nil
	}
	differ := transform.FindingAt(root.Get("leaderName"), "the other manager's configuration names another lease", "use the same leaderName in both")
	return ruleOf(leaseNameDiffers).Report([]transform.Finding{differ}, nil)
}

// NotListed finds the controllers that the other manager's configuration lists, and a configuration
// that lists some does not.
func NotListed(root, other yamledit.Node) []transform.Finding {
	var found []transform.Finding
	for _, c := range listed {
		if (reading{root: other}).lists(c) && !(reading{root: root}).lists(c) && len(leaders(root)) > 0 {
			found = append(found, transform.FindingAt(root.Get(leadersKey), "the other manager's configuration lists "+c.old+" ("+c.new+" from 1.28 on), this one does not", "list the same controllers in both"))
		}
	}
	return ruleOf(notListed).Report(found, nil)
}
