// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package leadermigration

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Reader is the manager that reads a configuration, as far as it is known.
type Reader struct {
	Component string // Manager, CloudManager, or ""
	Version   string // of the manager: a release, a minor, or ""
	Lease     string // that the managers may lock, or ""
	NodeIPAM  bool   // the provider's cloud-controller-manager implements it; that of AWS does not
}

// rule is a row of the table. One without a check is about text or about two
// configurations.
type rule struct {
	transform.Rule
	check func(reading) []transform.Finding
}

const (
	wildcardUnquoted = "wildcard-unquoted"
	leaseNameDiffers = "lease-name-differs"
	notListed        = "controller-not-listed"
)

// RuleNodeIPAM is for nodeipam with a provider that does not have it.
const RuleNodeIPAM = "nodeipam-without-ccm-support"

func row(id, doc string, check func(reading) []transform.Finding) rule {
	return rule{transform.Rule{ID: id, Severity: transform.Error, Acceptable: true, Doc: doc}, check}
}

// rules is the one table of what is wrong with configurations. Below 1.36 a
// manager decodes them leniently, so most of it is accepted silently
// (k8s.io/controller-manager/pkg/leadermigration).
func rules() []rule {
	return []rule{
		row("cloud-node-listed", "A LeaderMigrationConfiguration lists cloud-node, which is never migrated: no manager would initialize nodes while the other one holds the lease.", reading.cloudNode),
		row("component-mirrored", "A manager's LeaderMigrationConfiguration gives controllers to the other manager: this one holds the lease and does not run them.", reading.mirrored),
		row(notListed, "A controller that has to move is not in a LeaderMigrationConfiguration, or only in one of the two: that manager runs it regardless of who holds the migration lease.", reading.notListed),
		row("duplicate-controller", "A LeaderMigrationConfiguration lists a controller twice, and the last entry takes effect.", reading.duplicates),
		row("empty-leader-list", "A LeaderMigrationConfiguration lists no controllers, so that both managers run all of them.", reading.empty),
		row(leaseNameDiffers, "The leaderName of a LeaderMigrationConfiguration is absent, or differs from that of the other manager: with two leases both managers run the controllers.", reading.lease),
		row(RuleNodeIPAM, "A LeaderMigrationConfiguration lists nodeipam, which the cloud-controller-manager of AWS does not have: no manager would assign pod CIDRs to nodes.", reading.ipam),
		row("resource-lock-extra", "A LeaderMigrationConfiguration of v1 has resourceLock, which is not a field of that version; managers from 1.36 on exit.", reading.lockExtra),
		row("resource-lock-missing", "A LeaderMigrationConfiguration of v1alpha1 or v1beta1 lacks resourceLock: leases, and the manager exits.", reading.lockMissing),
		row("unknown-api-version", "The manager does not support the apiVersion of its LeaderMigrationConfiguration, and exits.", reading.apiVersion),
		row("unknown-component", "An entry of a LeaderMigrationConfiguration names no manager, so that none starts the controller.", reading.components),
		row("unknown-controller", "A LeaderMigrationConfiguration names a controller that the manager has under another name, and that controller runs in both managers. The names changed in 1.28.", reading.unknown),
		row("unknown-key", "A LeaderMigrationConfiguration has an unknown key; managers ignore it, and from 1.36 on they exit.", reading.keys),
		row(wildcardUnquoted, "A component is * without quotes, as in the published example. This is not valid YAML, and the manager exits.", nil),
	}
}

// Rules returns the rules, for tables of rules and for documentation.
func Rules() []transform.Rule {
	return lists.Map(rules(), func(r rule) transform.Rule { return r.Rule })
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
	var found []transform.Finding
	for _, rule := range rules() {
		if rule.check != nil {
			found = append(found, rule.Report(rule.check(reading{root, r}), nil)...)
		}
	}
	return found
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

// NotListed finds the controllers that a configuration lacks, and the other manager's
// lists.
func NotListed(root, other yamledit.Node) []transform.Finding {
	return ruleOf(notListed).Report(onlyIn(other, root), nil)
}

// onlyIn finds the controllers that one configuration lists and the other, which
// lists some, does not.
func onlyIn(a, b yamledit.Node) []transform.Finding {
	var found []transform.Finding
	for _, c := range append(slices.Clone(cloudControllers), nodeIPAM) {
		in, also := (reading{root: a}).lists(c), (reading{root: b}).lists(c)
		if in && !also && len(leaders(b)) > 0 {
			found = append(found, transform.FindingAt(b.Get(leadersKey), "the other manager's configuration lists "+c.old+" ("+c.new+" from 1.28 on), this one does not", "list the same controllers in both"))
		}
	}
	return found
}
