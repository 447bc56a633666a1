// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"cmp"
	"strings"
	"time"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The end states of a migration.
const (
	// EndStateExternal makes the provider's name external.
	EndStateExternal = "external"
	// EndStateOverride keeps the provider's name, which names the nodes, and
	// makes every component external by its own argument.
	EndStateOverride = "aws-override"
)

// Where an end state is chosen, apart from files.
const (
	EndStateByFlag   = "--end-state"
	EndStateByObject = "spec.options"
)

// When control planes are cordoned for the switch.
const (
	CordonAuto   = "auto" // where they carry no workloads and no version changes
	CordonAlways = "always"
	CordonNever  = "never"
)

// Where the managers take the assignment of controllers from.
const (
	ConfigDefault  = "default"  // their own defaults
	ConfigGenerate = "generate" // a LeaderMigrationConfiguration for each
)

// How the migration lease is granted where no document of the cluster does it.
const (
	RBACRole  = "role"  // a Role and a RoleBinding of their own
	RBACPatch = "patch" // the published patch of the bootstrap roles
)

// Upgrade is how a plan moves the release.
type Upgrade string

// A cluster that is not migrated is moved by the switch, if at all.
const (
	UpgradeInSwitch Upgrade = "in-switch"
	UpgradeByStages Upgrade = "by-stages"
)

// DefaultLease is the name of the migration lease unless a configuration says
// otherwise (k8s.io/controller-manager).
const DefaultLease = "cloud-provider-extraction-migration"

// Machines are the labels of the machines of a live cluster.
type Machines []map[string]string

// Target is what the operator chose. The zero Target is a valid choice.
type Target struct {
	// EndState is one of the end states; "" leaves it to what is known of the names of Nodes.
	// EndStateBy is where the operator chose it: EndStateByFlag, EndStateByObject or a file.
	EndState   string `json:"endState,omitempty"`
	EndStateBy string `json:"endStateBy,omitempty"`
	// HostNames are known names; nil where no one has read any.
	HostNames HostNames `json:"hostNames,omitempty"`
	// Named are the machine classes whose Nodes a cloud provider names in the documents as
	// they are given; nil until Format.Open has decided it.
	Named map[string]bool `json:"-"`
	// Taken is the end state of documents that are still in-tree where the operator chose none; ""
	// until Format.Open has decided it.
	Taken string `json:"-"`
	// TakenWhy is the reason for EndStateOverride in Taken, in a few words.
	TakenWhy string `json:"-"`
	// Version is the Kubernetes release that the switch moves to; "" keeps it.
	Version string `json:"targetVersion,omitempty"`
	// AssumeVersion replaces a version that a file does not state.
	AssumeVersion string `json:"assumeVersion,omitempty"`
	// RancherVersion and RKEVersion say what will apply the result to an RKE
	// cluster; "" where it is not known.
	RancherVersion string `json:"rancherVersion,omitempty"`
	RKEVersion     string `json:"rkeVersion,omitempty"`
	// Machines are those of a live cluster whose object does not show its machine classes;
	// nil for a file, and where the object shows them.
	Machines *Machines `json:"-"`
	// Related are documents that rules read, such as the machine configurations of pools.
	Related []*yamledit.Document `json:"-"`
	// Values is the operator's values file for the chart of a live cluster of RKE: helm gets a
	// copy of it with what the migration requires. It is nil where the file is a document of
	// the cluster, and where there is none.
	Values *yamledit.Document `json:"-"`
	// Accept lists the rules whose errors are accepted.
	Accept []string `json:"accept,omitempty"`
	// ManualDone lists the manual stages that are done, as the operator confirms.
	ManualDone []string `json:"manualDone,omitempty"`

	ChartVersion    string `json:"chartVersion,omitempty"`       // "" for the tested one
	ChartRepo       string `json:"chartRepo,omitempty"`          // "" for the published one
	ImageRepository string `json:"ccmImageRepository,omitempty"` // "" for the chart's own
	ImageTag        string `json:"ccmImageTag,omitempty"`        // "" for the one that belongs to the cluster's minor

	// KeepLeaderMigration leaves the flag on the cloud-controller-manager.
	KeepLeaderMigration bool `json:"keepLeaderMigration,omitempty"`
	// NoLeaderMigration plans a migration without leader migration, with a gap or an overlap of owners.
	NoLeaderMigration bool `json:"noLeaderMigration,omitempty"`
	// ShortLeases gives the managers timings of leases that shorten the gaps.
	ShortLeases bool `json:"shortLeases,omitempty"`
	// ShortLeasesRefused means that they were chosen next to a manager that may run without, so that ShortLeases is false.
	ShortLeasesRefused bool `json:"-"`
	// CloudLease is the lease duration of the cloud-controller-manager of a live cluster; 0 for a file.
	CloudLease time.Duration `json:"-"`
	// Before is the cluster before the stage whose result is checked; nil for a cluster as it is.
	Before Cluster `json:"-"`
	// LeaderMigrationConfig is one of ConfigDefault (also "") and ConfigGenerate.
	LeaderMigrationConfig string `json:"leaderMigrationConfig,omitempty"`
	// LeaseName is the name of the migration lease; "" means DefaultLease. Only
	// a configuration can set another one for the managers.
	LeaseName string `json:"leaseName,omitempty"`
	// RBAC is one of RBACRole (also "") and RBACPatch.
	RBAC string `json:"rbac,omitempty"`
	// NodeIPAM moves the nodeipam controller to the cloud-controller-manager, too.
	NodeIPAM bool `json:"nodeIPAM,omitempty"`
	// Cordon is one of CordonAuto (also ""), CordonAlways and CordonNever.
	Cordon string `json:"cordon,omitempty"`

	// Situation is what the documents leave of a migration; "" until Format.Open has
	// decided it.
	Situation Situation `json:"-"`

	// Upgrade is how a plan moves the release; "" until Format.Open has decided it, and then
	// Version is the next step towards the release that the operator chose.
	Upgrade Upgrade `json:"-"`

	// CanonicalForm lets an undo take the usual form where the document does not show
	// how something was written before: absent, not empty; a list, not a string.
	CanonicalForm bool `json:"-"`
}

// Upgrades reports whether the plan is that of an upgrade.
func (t Target) Upgrades() bool { return t.Upgrade == UpgradeByStages }

// Stepwise reports whether stages of an upgrade can be planned.
func (t Target) Stepwise() bool { return t.Version != "" && t.Upgrade != UpgradeInSwitch }

// Lease returns the name of the migration lease.
func (t Target) Lease() string { return cmp.Or(t.LeaseName, DefaultLease) }

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

// HostNames are, by Node, the names by which machines register if no cloud provider names
// them: their host names, or names of their own in the kubelet's arguments; "" where it is not known.
type HostNames map[string]string

// ReadHostNames reads lines of a Node and a host name. A line without one is of a machine that did not answer.
func ReadHostNames(file string, text []byte) (HostNames, error) {
	of := HostNames{}
	for i, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		host := strings.ToLower(strings.Join(words[1:], " ")) // as a kubelet takes it
		if was, known := of[words[0]]; len(words) > 2 || known && was != host {
			return nil, &yamledit.Error{File: file, Line: i + 1, What: "not the name of one Node and of its host", Do: "write a line NODE HOSTNAME for each Node, as the command in the guide prints them"}
		}
		of[words[0]] = host
	}
	return of, nil
}

// Equal reports whether each name is known, and is that of the Node.
func (h HostNames) Equal() bool { return len(h) > 0 && len(h.Changes())+len(h.Unknown()) == 0 }

// Changes lists the Nodes that would register by another name, with it.
func (h HostNames) Changes() []string {
	return h.where(func(node, host string) bool { return host != "" && host != node }, " to ")
}

// Unknown lists the Nodes whose host names are not known.
func (h HostNames) Unknown() []string {
	return h.where(func(_, host string) bool { return host == "" }, "")
}

func (h HostNames) where(is func(node, host string) bool, joint string) []string {
	nodes := lists.Where(lists.Keys(h), func(node string) bool { return is(node, h[node]) })
	return lists.Map(nodes, func(node string) string { return node + joint + h[node] })
}
