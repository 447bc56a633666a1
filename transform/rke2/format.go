// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package rke2 plans the leader migration of an RKE2 cluster that Rancher
// provisions (provisioning.cattle.io/v1 Cluster).
//
// Invariant: what an edit means is decided by the effective configuration of
// every machine class, computed as Rancher's planner computes it (rancher
// pkg/capr/planner), never by where a key is in the file. Every stage is
// checked by recomputing all classes: what was promised changed, nothing else.
package rke2

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Name is the format's name.
const Name = "rke2"

// Format returns RKE2 in the shape of all formats.
func Format() transform.Format {
	return transform.Format{
		Name:     Name,
		Document: "a Cluster of provisioning.cattle.io/v1",
		Words:    transform.Words{{"provisioning.cattle.io/v1"}},
		Owns:     IsCluster,
		Identify: identify,
		Open:     open,
		Lint:     lint,
		Explain:  explain,
		Keys:     func() []string { return effective.LookupRelease("").Keys() },
		Deliver:  transform.ThroughRancher,
		IsObject: transform.Served,
		Grouping: grouping(),
		Kept:     kept,
		Rules:    transform.RulesOf(ruleTable()),
		Live: transform.Live{
			Kind:       transform.Provisioning,
			Snapshot:   transform.SnapshotByCluster(askForSnapshot),
			Machines:   machines,
			ByMachines: byMachines,
			Roles:      roles,
			Restart:    func(server bool) string { return "systemctl restart " + effective.Service(server) },
			Shows:      func(t transform.Traits) bool { return strings.Contains(t.Version, "+"+Name) },
		},
	}
}

// identify reads a cluster's name off its document.
func identify(doc *yamledit.Document) transform.Identity {
	return transform.Identity{Format: Name, Namespace: doc.Root().StringAt("metadata", "namespace"), Name: doc.Root().StringAt("metadata", "name")}
}

// migration is a cluster and what its operator wants.
type migration struct {
	*Cluster
	objects []*yamledit.Document // that the document names and that were given
	stages.Migration
	// inConfigs is what was found in the configurations of the managers, once for all rules about them; nil but in Findings.
	inConfigs func() []transform.Finding
}

func open(docs []*yamledit.Document, target transform.Target) (transform.Cluster, error) {
	m, err := migrationOf(docs, target)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(m.checkProvider(), m.checkCloud()); err != nil {
		return nil, err
	}
	m.Electors = m.managing()
	path := k8s.UpgradePath{Migrated: m.migrated, OldImage: m.oldImage, Newest: effective.Newest, Check: m.checkImages}
	if m.Target, err = m.move().Decide(m.Target, path); err != nil {
		return nil, err
	}
	m.Target, err = m.Timed(m.RKEConfig())
	return m, err
}

// lint opens a cluster for its findings, whatever its provider. A manifest that
// cannot be read leaves what the rest of the file shows.
func lint(docs []*yamledit.Document, target transform.Target) (transform.Cluster, error) {
	m, err := migrationOf(docs, target)
	if err != nil {
		return nil, err
	}
	_, _, err = m.chart()
	return m, err
}

func migrationOf(docs []*yamledit.Document, target transform.Target) (*migration, error) {
	c, err := Open(docs[0], target)
	if err != nil {
		return nil, err
	}
	m := &migration{Cluster: c, Migration: stages.Migration{Target: target, Selector: controlPlaneNodeLabel}, objects: objects(c.Doc, docs[1:])}
	m.Target = target.In(m.situation())
	if target.Situation == "" {
		m.Target.Named, m.Target.Taken = m.named(), m.endState()
		m.Target.TakenWhy = m.takenWhy()
	}
	return m, nil
}

// otherExternal are the providers of RKE2 that make components external and install the manager
// of another cloud (rancher/rke2, pkg/cli/cmds/root.go).
var otherExternal = []string{"rancher-vsphere", "harvester"}

// checkProvider refuses clusters whose control planes are not on AWS.
func (c *Cluster) checkProvider() error {
	if len(c.ControlPlanes) == 0 {
		return transform.NotMigratable(c.RKEConfig().Get("machinePools"), "no machine pool is a control plane", "use the whole cluster")
	}
	for _, class := range c.ControlPlanes {
		config := c.Effective(class)
		switch name, at := config.Text(providerKey), config[providerKey].Origin; {
		case name == inTree || name == external:
		case slices.Contains(otherExternal, name):
			return transform.NothingToMigrate(at, "the cloud provider "+name+" is external")
		case name != "":
			return transform.NotMigratable(at, "the cloud provider is "+name+", not aws", "migrate it with the procedure of that provider")
		default:
			return transform.NotMigratable(c.RKEConfig(), "no cloud-provider-name reaches the machines of class "+class.Name, "only clusters with cloud-provider-name: aws are migrated")
		}
	}
	return c.checkComponents()
}

// checkComponents refuses a provider of a component that is neither of the two.
func (c *Cluster) checkComponents() error {
	return lists.Check(c.Kinds, func(class effective.Class) error {
		return lists.Check(componentArgs, func(key string) error {
			return rules.CheckProvider(args.Place(c.Effective(class)[key].Origin), key, key == managerArgs)
		})
	})
}

// Identity implements transform.Cluster.
func (m *migration) Identity() transform.Identity {
	return transform.Identity{Format: Name, Namespace: m.Namespace, Name: m.Name, Version: m.Version}
}

// Documents implements transform.Cluster.
func (m *migration) Documents() []*yamledit.Document {
	return append(transform.Only(m.Doc), m.objects...)
}

// Stages implements transform.Cluster.
func (m *migration) Stages() []transform.Listed {
	return m.InOrder(stages.Set{
		Grant: m.grantMigrationLease, Enable: m.enableLeaderMigration, Install: m.installCCM,
		Cordon: m.cordon().Stage, Switch: m.switchToExternal, Uncordon: m.cordon().Release,
		Disable: m.disableLeaderMigration,

		UpgradeKubernetes: m.upgradeKubernetes, UpgradeCCM: m.upgradeCCM,
	})
}

// managing are the managers of the file. One that has left a migration, or never took part, keeps its timings.
func (m *migration) managing() (e stages.Electors) {
	e.At, e.Cluster, e.Release = m.RKEConfig(), m.minor(), semver.MajorMinor(m.chartOptions().Tag())
	for _, c := range m.ControlPlanes {
		list := args.Of(m.Effective(c)[managerArgs].Value)
		longest, _ := leadermigration.TimingsOf(e.Kube)
		if t, _ := leadermigration.TimingsOf(list); e.Kube == nil || t.Leads() > longest.Leads() {
			e.Kube = list
		}
	}
	if w, found := m.workload(); found {
		e.Show(w.Args(), w.Tag(), w.Migrates(), m.isExternal())
	}
	if chart, found, err := m.chart(); found && err == nil {
		e.Show(chart.Args(), chart.ImageTag(), chart.Migrates(), m.isExternal())
		_, unseen := chart.Unknown("args")
		e.Shown = !unseen
	}
	return e
}

// explain lists the effective configuration of every class.
func explain(docs []*yamledit.Document, target transform.Target) ([]transform.MachineClass, error) {
	c, err := Open(docs[0], target)
	if err != nil {
		return nil, err
	}
	return c.Explain(), nil
}

// machines works the configuration of a machine out from its own labels, as Rancher's
// planner does: regardless of who set them, and whatever labels the document names.
func machines(doc *yamledit.Document, target transform.Target) (transform.MachineConfig, error) {
	c, err := describe(doc, target.AssumeVersion)
	if err != nil {
		return nil, err
	}
	return c.ByLabels(), nil
}

// byMachines reports whether only the machines of a cluster show its classes.
func byMachines(doc *yamledit.Document) bool {
	if doc.Root().Get("spec", "rkeConfig", "machinePools").Len() > 0 {
		return false
	}
	c, err := describe(doc, "")
	if err != nil {
		return false
	}
	_, possible := c.LabelSets(nil)
	return !possible
}

// roles reads the roles of a machine as the planner does.
func roles(labels map[string]string) transform.Roles {
	c := effective.Class{Labels: labels}
	return transform.Roles{ControlPlane: c.ControlPlane(), Etcd: c.Etcd(), Worker: c.Worker()}
}

const snapshotKey = "etcdSnapshotCreate"

// askForSnapshot returns the object of an RKE2 cluster that asks for one more
// snapshot of etcd, and the number of it.
func askForSnapshot(doc *yamledit.Document) (*yamledit.Document, int64, error) {
	config := doc.Root().Get("spec", "rkeConfig")
	at := config.Get(snapshotKey, "generation")
	last, is := at.Value().(float64)
	if !is && at.Value() != nil {
		return nil, 0, at.Errorf("the number of the last snapshot is no number", "correct it")
	}
	e, next := doc.Edit(), int64(last)+1
	e.Put(config, int(next), snapshotKey, "generation")
	after, _, err := e.Apply()
	return after, next, err
}

// situation reports what the release and the provider leave of a migration. From 1.27 on,
// aws either stops the components or, on the releases of ownNodeName, only names nodes.
func (m *migration) situation() transform.Situation {
	nodes := m.inTreeNodes()
	switch {
	case !k8s.From(m.Version, aws.FirstWithout):
		return transform.InTree
	case slices.ContainsFunc(nodes, m.stops), len(nodes) > 0 && k8s.From(m.Version, firstWithoutFlags) && len(m.removedArgs()) > 0: // a component does not start
		return transform.Broken
	case len(nodes) > 0:
		return transform.NamesOnly
	case m.showsLeaderMigration(), m.oldImage() && !m.Target.Stepwise():
		return transform.InTree
	case m.lacksManager() && !k8s.From(m.Version, afterMigrations):
		return transform.InTree // what the file does not show may take part in one
	}
	if !m.onlyNamesNodes() {
		return transform.Rescued
	}
	return transform.External
}

// afterMigrations is the first minor at which no migration can be in progress: one ends with the
// switch, at 1.27 at the latest.
const afterMigrations = "v1.28"

// stops reports whether a component does not start with what makes it in-tree: its own
// argument, or a provider's name that RKE2 passes on.
func (m *migration) stops(at yamledit.Node) bool {
	return at.Key() != providerKey || !m.onlyNamesNodes()
}

// showsLeaderMigration reports whether a manager in the file takes part in a migration that
// began on an earlier release.
func (m *migration) showsLeaderMigration() bool {
	if chart, found, _ := m.chart(); found && chart.Migrates() {
		return true
	}
	if w, found := m.workload(); found && w.Migrates() {
		return true
	}
	return m.anyControlPlane(func(c effective.Config) bool { return args.Has(args.Of(c[managerArgs].Value), leaderFlag) })
}

// oldImage reports whether the last stage of a migration is left: it moves the image to the
// minor of the cluster.
func (m *migration) oldImage() bool {
	chart, _, err := m.chart()
	return err == nil && m.finalTag(chart) != ""
}

// keepsNamesAsExternal reports whether every machine takes the name of its node from the
// instance metadata with an external provider as well: the release has the argument, and
// every Rancher that knows the release lets it through to servers and agents alike.
func (m *migration) keepsNamesAsExternal() bool {
	return m.onlyNamesNodes() && !slices.ContainsFunc(m.Classes, func(c effective.Class) bool {
		_, passes := m.Release.Keep(c.Server(), nodeNameKey, true)
		return !passes
	})
}
