// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package leadermigration

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
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

	leadersKey = "controllerLeaders"
	lockKey    = "resourceLock"
)

// RuleNodeIPAM is for nodeipam with a provider that does not have it.
const RuleNodeIPAM = "nodeipam-without-ccm-support"

// NoNodeIPAM is its reason, also where the manager is asked for the controller in another way.
var NoNodeIPAM = transform.Reason{
	Why: "The AWS manager has no nodeipam controller, so new nodes get no pod CIDR.", Source: aws.Source,
	Repair: "Remove nodeipam from the list.", Accept: "If pod CIDRs are not assigned by Kubernetes, as with most network plugins of Rancher.",
}

type rule = transform.Checked[reading]

// rules is the one table of what is wrong with configurations. Below 1.36 a
// manager decodes them leniently, so most of it is accepted silently
// (k8s.io/controller-manager/pkg/leadermigration).
func rules() []rule {
	return []rule{
		{Rule: transform.Rule{ID: "cloud-node-listed", Severity: transform.Error,
			Doc: "A LeaderMigrationConfiguration lists cloud-node, which is never migrated: no manager would initialize nodes while the other one holds the lease."}.Because(
			"cloud-node initializes nodes and is never migrated: while the other manager holds the lease, new nodes stay uninitialized.", transform.SourceConfiguration, "Remove cloud-node from the list.", "Never during a migration."),
			Check: func(r reading, found *transform.Findings) {
				for _, e := range r.entries("name") {
					if cloudNode.either(e.value) {
						found.At(e.at, "this controller is never migrated: it runs in the cloud-controller-manager from its start", "remove the entry")
					}
				}
			}},
		// It needs to know whose configuration it is.
		{Rule: transform.Rule{ID: "component-mirrored", Severity: transform.Error,
			Doc: "A manager's LeaderMigrationConfiguration gives controllers to the other manager: this one holds the lease and does not run them."}.Because(
			"The manager holds the lease and starts none of the controllers, so that they run nowhere.", transform.SourceConfiguration, "Name this manager, or \"*\", as the component.", "Never during a migration."),
			Check: func(r reading, found *transform.Findings) {
				other := map[string]string{Manager: CloudManager, CloudManager: Manager}[r.Component]
				for _, e := range r.entries("component") {
					if other != "" && e.value == other {
						found.At(e.at, r.Component+" never starts this controller, even while it holds the migration lease", "write "+r.Component+` or "*"`)
					}
				}
			}},
		// It is silent where a name is wrong: then that is the mistake.
		{Rule: transform.Rule{ID: notListed, Severity: transform.Error,
			Doc: "A controller that has to move is not in a LeaderMigrationConfiguration, or only in one of the two: that manager runs it regardless of who holds the migration lease."}.Because(
			"A controller that is not listed runs under the manager's own lease, at once and in both managers.", transform.SourceConfiguration, "List service, route and cloud-node-lifecycle under the names of this manager's version.", "If the other manager does not have the controller."),
			Check: func(r reading, found *transform.Findings) {
				var unknown transform.Findings
				if r.unknown(&unknown); len(leaders(r.root)) == 0 || len(unknown) > 0 {
					return
				}
				for _, c := range cloudControllers {
					if !r.lists(c) {
						found.At(r.at(leadersKey), r.manager()+" runs "+c.name(r.Version)+" regardless of who holds the migration lease, because it is not listed", "list it")
					}
				}
			}},
		{Rule: transform.Rule{ID: "duplicate-controller", Severity: transform.Error,
			Doc: "A LeaderMigrationConfiguration lists a controller twice, and the last entry takes effect."}.Because(
			"The last entry wins, so that the manager of the first one does not run the controller as intended.", transform.SourceConfiguration, "Remove one of the two entries.", "If both entries name the same component."),
			Check: func(r reading, found *transform.Findings) {
				seen := map[string]bool{}
				for _, e := range r.entries("name") {
					if seen[e.value] {
						found.At(e.at, "the controller is listed twice, and the last entry takes effect", "remove one of the two")
					}
					seen[e.value] = e.value != ""
				}
			}},
		{Rule: transform.Rule{ID: "empty-leader-list", Severity: transform.Error,
			Doc: "A LeaderMigrationConfiguration lists no controllers, so that both managers run all of them."}.Because(
			"Nothing is under the migration lease, so both managers run all controllers.", transform.SourceConfiguration, "List the controllers, or remove the file: the managers have a default configuration.", "Never while two managers run."),
			Check: func(r reading, found *transform.Findings) {
				if len(leaders(r.root)) == 0 {
					found.At(r.at(leadersKey), "no controller is listed, so both managers run all of them at the same time", "list "+strings.Join(migrated(r.Version, false), ", "))
				}
			}},
		{Rule: transform.Rule{ID: leaseNameDiffers, Severity: transform.Error,
			Doc: "The leaderName of a LeaderMigrationConfiguration is absent, or differs from that of the other manager: with two leases both managers run the controllers."}.Because(
			"With two leases both managers are the only candidate of their own one, and both run the controllers.", transform.SourceConfiguration, "Set the same leaderName on both sides.", "If the other side is not in the file and has the same name."),
			Check: func(r reading, found *transform.Findings) {
				switch name := r.root.StringAt("leaderName"); {
				case name == "":
					found.At(r.at("leaderName"), "the migration lease has no name, and the manager exits", "write leaderName: "+Config{Lease: r.Lease}.lease())
				case r.Lease != "" && name != r.Lease:
					found.At(r.at("leaderName"), "the managers have permission on another lease, "+r.Lease, "use the same name in both configurations and in the Role")
				}
			}},
		{Rule: transform.Rule{ID: RuleNodeIPAM, Severity: transform.Error,
			Doc: "A LeaderMigrationConfiguration lists nodeipam, which the cloud-controller-manager of AWS does not have: no manager would assign pod CIDRs to nodes.", Reason: NoNodeIPAM},
			Check: func(r reading, found *transform.Findings) {
				for _, e := range r.entries("name") {
					if !r.NodeIPAM && nodeIPAM.either(e.value) {
						found.At(e.at, "the cloud-controller-manager of AWS has no such controller: no manager would assign pod CIDRs to nodes", "remove the entry")
					}
				}
			}},
		{Rule: transform.Rule{ID: "resource-lock-extra", Severity: transform.Error,
			Doc: "A LeaderMigrationConfiguration of v1 has resourceLock, which is not a field of that version; managers from 1.36 on exit."}.Because(
			"Managers from 1.36 on refuse unknown fields of v1, and exit.", transform.SourceConfiguration, "Remove resourceLock.", "Below 1.36 on both sides, also after the next upgrade."),
			Check: func(r reading, found *transform.Findings) {
				if api, _ := r.api(); api == "v1" && r.root.Get(lockKey).Exists() {
					found.At(r.at(lockKey), "v1 does not have this key: managers ignore it, and from 1.36 on they exit", "remove it")
				}
			}},
		{Rule: transform.Rule{ID: "resource-lock-missing", Severity: transform.Error,
			Doc: "A LeaderMigrationConfiguration of v1alpha1 or v1beta1 lacks resourceLock: leases, and the manager exits."}.Because(
			"The field is required in v1alpha1 and v1beta1, and the manager exits without it.", transform.SourceConfiguration, "Add resourceLock: leases, or use v1.", "Never; the manager does not start."),
			Check: func(r reading, found *transform.Findings) {
				if api, _ := r.api(); needsLock(api) && r.root.StringAt(lockKey) != "leases" {
					found.At(r.at(lockKey), "this version of the configuration needs the lock to be leases", "write resourceLock: leases")
				}
			}},
		{Rule: transform.Rule{ID: "unknown-api-version", Severity: transform.Error,
			Doc: "The manager does not support the apiVersion of its LeaderMigrationConfiguration, and exits."}.Because(
			"The manager cannot decode the file, and exits.", transform.SourceConfiguration, "Use a version that the manager's release has.", "If the manager is upgraded in the same change."),
			Check: func(r reading, found *transform.Findings) {
				known := apiVersions(r.Version)
				if _, ok := r.api(); !ok && len(known) > 0 {
					found.At(r.at("apiVersion"), r.manager()+" does not read this version of the configuration, and exits", fmt.Sprintf("write %s/%s", group, known[0]))
				}
			}},
		{Rule: transform.Rule{ID: "unknown-component", Severity: transform.Error,
			Doc: "An entry of a LeaderMigrationConfiguration names no manager, so that none starts the controller."}.Because(
			"An entry for a component that does not exist starts the controller nowhere.", transform.SourceConfiguration, "Use kube-controller-manager, cloud-controller-manager or \"*\".", "Never during a migration."),
			Check: func(r reading, found *transform.Findings) {
				for _, e := range r.entries("component") {
					switch {
					case e.value == Manager, e.value == CloudManager, e.value == wildcard && knowsWildcard(r.Version):
					case e.value == wildcard:
						found.At(e.at, r.manager()+" reads * as a name, so it never starts the controller", "write "+r.Component)
					default:
						found.At(e.at, "no manager has this name, so none starts the controller", "write "+Manager+", "+CloudManager+` or "*"`)
					}
				}
			}},
		{Rule: transform.Rule{ID: "unknown-controller", Severity: transform.Error,
			Doc: "A LeaderMigrationConfiguration names a controller that the manager has under another name, and that controller runs in both managers. The names changed in 1.28."}.Because(
			"The name matches no controller, so that the real one runs in both managers. The names changed in 1.28.", transform.SourceConfiguration, "Use the names of the manager's own version; `rke-lm leader-migration-config` prints them.", "If the controller of that name belongs to a manager of your own."),
			Check: reading.unknown},
		{Rule: transform.Rule{ID: "unknown-key", Severity: transform.Error,
			Doc: "A LeaderMigrationConfiguration has an unknown key; managers ignore it, and from 1.36 on they exit."}.Because(
			"Managers before 1.36 ignore the key, so that what it was meant to set is not set; later ones exit.", transform.SourceConfiguration, "Correct or remove the key.", "Below 1.36, if the key is a note for people."),
			Check: func(r reading, found *transform.Findings) {
				strangers(found, r.root, "apiVersion", "kind", "leaderName", lockKey, leadersKey)
				for _, n := range leaders(r.root) {
					strangers(found, n, "name", "component")
				}
			}},
		{Rule: transform.Rule{ID: wildcardUnquoted, Severity: transform.Error,
			Doc: "A component is * without quotes, as in the published example. This is not valid YAML, and the manager exits."}.Because(
			"An unquoted * is an alias of YAML: the file cannot be read, and the manager exits.", "yaml.org, 1.2.2, section 7.1", "Quote it: \"*\".", "Never; the manager does not start.")},
	}
}

// Rules returns the rules, for tables of rules and for documentation.
func Rules() []transform.Rule { return transform.RulesOf(rules()) }

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

func leaders(root yamledit.Node) []yamledit.Node { return root.Get(leadersKey).Items() }

// at is a key of the configuration, or all of it where the key is not there.
func (r reading) at(key string) yamledit.Node { return yamledit.First(r.root.Get(key), r.root) }

// entry is what an entry has for a key, and the place of that; all of the entry where the key is not there.
type entry struct {
	value string
	at    yamledit.Node
}

// entries are those of the list, for a key.
func (r reading) entries(key string) []entry {
	return lists.Map(leaders(r.root), func(n yamledit.Node) entry { return entry{n.StringAt(key), yamledit.First(n.Get(key), n)} })
}

// lists reports whether an entry names a controller as the manager does.
func (r reading) lists(c controller) bool {
	return slices.ContainsFunc(leaders(r.root), func(n yamledit.Node) bool { return c.is(n.StringAt("name"), r.Version) })
}

// manager is how messages call the manager.
func (r reading) manager() string {
	name := cmp.Or(r.Component, "the manager")
	return strings.TrimSpace(name + " " + r.Version)
}

func (r reading) unknown(found *transform.Findings) {
	for _, e := range r.entries("name") {
		c, known := lists.Find(listed, func(c controller) bool { return c.either(e.value) })
		switch {
		case cloudNode.either(e.value), nodeIPAM.is(e.value, r.Version):
		case known && r.lists(c): // a name of another version does no harm next to the right one
		case known:
			found.At(e.at, r.manager()+" has this controller under another name, and would run it regardless of the migration lease", "write "+c.name(r.Version))
		default:
			found.At(e.at, "no manager has a controller of this name", "write one of "+strings.Join(migrated(r.Version, false), ", "))
		}
	}
}

// api returns the version of the configuration, and whether the manager reads it.
func (r reading) api() (string, bool) {
	name, is := strings.CutPrefix(r.root.StringAt("apiVersion"), group+"/")
	return name, is && slices.Contains(apiVersions(r.Version), name)
}

func strangers(found *transform.Findings, m yamledit.Node, known ...string) {
	for _, e := range m.Entries() {
		if !slices.Contains(known, e.Key) {
			found.At(e.Value, "unknown key: managers ignore it, and from 1.36 on they exit", "write one of "+strings.Join(known, ", ")+", or remove it")
		}
	}
}
