// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Name is the format's name.
const Name = "manifest"

// Format returns the manifests of controller managers in the shape of all
// formats.
func Format() transform.Format {
	return transform.Format{
		Name:      Name,
		Document:  "a manifest of a controller manager",
		Words:     transform.Words{{groups[kindConfiguration]}, {anyManager, kindPod}, {anyManager, kindDeployment}, {anyManager, kindDaemonSet}},
		Plausible: plausible,
		Owns:      IsManifest,
		Identify:  identify,
		Open:      open,
		Lint:      lint,
		Explain:   explain,
		Deliver:   deliver,
		Grouping:  transform.Grouping{Several: true, MayGroup: IsManifest, Group: group, Related: transform.Related{Words: transform.Words{{"Role"}}, Kinds: []string{"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}}, WithValues: transform.NoValues("the manifest of the cloud-controller-manager is a path like the others")},
		Rules:     transform.RulesOf(ruleTable()),
		Live:      transform.Live{Restart: transform.RestartKubelet, Shows: func(t transform.Traits) bool { return t.ManagerPods }}, // no Rancher describes them
	}
}

// identify reads a manifest's name off its document.
func identify(doc *yamledit.Document) transform.Identity {
	m := Manifest{Root: doc.Root(), Kind: kindOf(doc)}
	m.setName()
	return transform.Identity{Format: Name, Namespace: m.Namespace, Name: m.Name}
}

// migration is a manifest and what its operator wants.
type migration struct {
	*Manifest
	*neighbours
	stages.Migration
}

// checkProvider refuses managers of other clouds. A kube-controller-manager that
// is external says no more whose it was.
func (m *Manifest) checkProvider() error {
	name, at := m.provider()
	image := k8s.ParseImage(m.program.container.StringAt("image"))
	switch {
	case m.Kind == kindPod && strings.HasSuffix(image.Name, "rancher/hardened-kubernetes"):
		return transform.NotMigratable(m.program.container.Get("image"), "RKE2 generates this static pod at every start", "use the Cluster object of Rancher, or change the configuration of RKE2")
	case name == inTree, name == external && m.Component != cloudManager:
		return rules.CheckProvider(m.apiServer.List(), "kube-apiserver", false)
	case name == "" && m.Component == cloudManager && image.Base() == aws.Manager:
		return nil
	case name == "":
		return transform.NotMigratable(at, "no --"+providerFlag+" among the arguments of "+m.Component, "only managers with --"+providerFlag+"=aws are migrated")
	case strings.Contains(name, "$("):
		return at.Errorf("the provider comes from an environment variable", "write the value")
	}
	return transform.NotMigratable(at, "the cloud provider is not aws, but "+strconv.Quote(name), "migrate it with the procedure of that provider")
}

// Identity implements transform.Cluster.
func (m *migration) Identity() transform.Identity {
	return transform.Identity{Format: Name, Namespace: m.Namespace, Name: m.Name, Version: m.Version}
}

// Documents implements transform.Cluster.
func (m *migration) Documents() []*yamledit.Document { return transform.Only(m.Doc) }

// Stages implements transform.Cluster.
func (m *migration) Stages() []transform.Listed {
	if registers(m.Kind) {
		return m.registrationStages()
	}
	return m.InOrder(stages.Set{
		Grant: m.grantMigrationLease, Enable: m.enableLeaderMigration, Install: m.installCCM,
		Cordon: m.cordon().Stage, Switch: m.switchToExternal, Uncordon: m.cordon().Release,
		Disable: m.disableLeaderMigration,
	})
}

// managing are the managers of the manifests of a cluster.
func managing(members []*migration) stages.Electors {
	e := stages.Electors{Cluster: members[0].Version}
	for _, o := range slices.Backward(members) {
		switch o.Component {
		case kubeManager:
			e.Kube, e.Cluster = o.arguments.List(), o.Version
		case cloudManager:
			e.Show(o.arguments.List(), o.Version, o.on(leaderFlag), o.finished())
			e.At, e.Runs = o.Root, o.on(leaderFlag) // or else it starts with the flag
		}
	}
	return e
}

// explain lists the arguments of each manager by the occurrence that counts.
func explain(docs []*yamledit.Document, target transform.Target) ([]transform.MachineClass, error) {
	var classes []transform.MachineClass
	for _, doc := range docs {
		m, err := Open(doc, target.AssumeVersion)
		if err != nil {
			return nil, err
		}
		classes = append(classes, m.class())
	}
	return classes, nil
}

func (m *Manifest) class() transform.MachineClass {
	class := transform.MachineClass{Name: m.Component}
	at := map[string]int{}
	for _, a := range m.arguments.List() {
		i, seen := at[a.Name]
		if !seen {
			at[a.Name] = len(class.Settings)
			class.Settings = append(class.Settings, transform.Setting{Key: a.Name, Value: a.Value, Origin: a.Node(), Why: "argument of " + m.Component})
			continue
		}
		s := &class.Settings[i]
		s.Overridden, s.Origin, s.Value = append(s.Overridden, s.Origin), a.Node(), a.Value
	}
	slices.SortFunc(class.Settings, func(a, b transform.Setting) int { return strings.Compare(a.Key, b.Key) })
	return class
}

// cluster is the manifests of one cluster, of which each has its part in the stages.
// It has several; a single manifest is a *migration.
type cluster struct {
	*neighbours
	stages.Migration
}

func open(docs []*yamledit.Document, target transform.Target) (transform.Cluster, error) {
	members, err := read(docs, target)
	if err != nil {
		return nil, err
	}
	if err := lists.Check(members, func(m *migration) error { return m.checkProvider() }); err != nil {
		return nil, err
	}
	shown := managing(members)
	timed, err := stages.Migration{Target: members[0].Target, Electors: shown}.Timed(members[0].Root)
	for _, m := range members {
		m.Electors, m.Target.ShortLeases, m.Target.ShortLeasesRefused = shown, timed.ShortLeases, timed.ShortLeasesRefused
	}
	return joined(members), err
}

// lint opens manifests for their findings, whatever their provider. One that cannot be
// read leaves what the others show.
func lint(docs []*yamledit.Document, target transform.Target) (transform.Cluster, error) {
	members, err := read(docs, target)
	if len(members) == 0 {
		return nil, err
	}
	return joined(members), err
}

// read reads the manifests among documents; the others are seen next to them.
func read(docs []*yamledit.Document, target transform.Target) ([]*migration, error) {
	seen := &neighbours{}
	var errs []error
	for i, doc := range docs {
		if i > 0 && !IsManifest(doc) {
			seen.related = append(seen.related, doc)
			continue
		}
		m, err := Open(doc, target.AssumeVersion)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		seen.members = append(seen.members, &migration{Manifest: m, Migration: stages.Migration{Target: target}, neighbours: seen})
	}
	if target.Situation == "" {
		target.Named = map[string]bool{Name: slices.ContainsFunc(seen.members, (*migration).inTree)}
	}
	target = target.In(situation(seen.members))
	before, _ := target.Before.(interface{ all() []*migration })
	for i, m := range seen.members {
		if m.Target = target; before != nil && i < len(before.all()) {
			m.Target.Before = before.all()[i]
		}
	}
	if len(errs) == 1 {
		return seen.members, errs[0]
	}
	return seen.members, errors.Join(errs...)
}

// neighbours are the documents of one cluster.
type neighbours struct {
	members []*migration
	related []*yamledit.Document // with permissions
}

// Manager implements transform.Cluster.
func (n *neighbours) Manager() yamledit.Node {
	if m, has := lists.Find(n.members, func(m *migration) bool { return m.Component == cloudManager }); has {
		return m.Root
	}
	return yamledit.Node{}
}

func (n *neighbours) all() []*migration { return n.members }

func joined(members []*migration) transform.Cluster {
	if len(members) == 1 {
		return members[0]
	}
	return &cluster{members[0].neighbours, members[0].Migration}
}

// Identity implements transform.Cluster: the first document names the cluster.
func (c *cluster) Identity() transform.Identity { return c.members[0].Identity() }

// Documents implements transform.Cluster.
func (c *cluster) Documents() []*yamledit.Document {
	return lists.Map(c.members, func(m *migration) *yamledit.Document { return m.Doc })
}

// Findings implements transform.Cluster.
func (c *cluster) Findings(stage string) []transform.Finding {
	return slices.Concat(lists.Map(c.members, func(m *migration) []transform.Finding { return m.Findings(stage) })...)
}

// Stages implements transform.Cluster: each is one stage over all documents, so the
// order holds between them.
func (c *cluster) Stages() []transform.Listed {
	each := lists.Map(c.members, (*migration).Stages)
	joined := make([]transform.Listed, len(each[0]))
	for i, s := range each[0] {
		joined[i] = transform.List(s.Name, func() transform.Stage { return c.stage(each, i) })
	}
	return joined
}

// share is the part of a document in a stage.
type share struct {
	transform.Stage
	member int
}

// stage joins what the documents have of stage i. Those that edit nothing in it only
// refer to the others.
func (c *cluster) stage(each [][]transform.Listed, i int) transform.Stage {
	var shares []share
	for member, list := range each {
		if s := list[i].Stage(); s.Edit != nil {
			shares = append(shares, share{s, member})
		}
	}
	if len(shares) == 0 {
		return each[0][i].Stage()
	}
	s := shares[0].Stage
	s.Why = c.why(shares)
	s.Edit = func() (*yamledit.Edit, error) {
		return editAll(shares, func(s transform.Stage) (*yamledit.Edit, error) { return s.Edit() })
	}
	s.Undo = func() (*yamledit.Edit, error) {
		return editAll(shares, func(s transform.Stage) (*yamledit.Edit, error) { return s.Undo() })
	}
	s.Check = transform.CheckBy(func(after *cluster) error {
		return lists.Check(shares, func(part share) error { return part.Check(after.members[part.member]) })
	})
	manual := lists.Flat(shares, func(part share) []string { return part.AfterManual })
	s.AfterManual = lists.Where(manual, func(stage string) bool { return stage != stages.InstallCCM || !c.Manager().Exists() })
	s.Before = c.actions(shares, func(s transform.Stage) []action.Action { return s.Before })
	s.After = c.actions(shares, func(s transform.Stage) []action.Action { return s.After })
	s.Verify = c.actions(shares, func(s transform.Stage) []action.Action { return s.Verify })
	s.UndoBefore = c.actions(shares, func(s transform.Stage) []action.Action { return s.UndoBefore })
	s.UndoAfter = c.actions(shares, func(s transform.Stage) []action.Action { return s.UndoAfter })
	s.Files = func() ([]action.File, error) { return filesOf(shares) }
	return s
}

// why says it for each component once.
func (c *cluster) why(shares []share) string {
	var components, whys []string
	for _, part := range shares {
		if component := c.members[part.member].Component; !slices.Contains(components, component) {
			components, whys = append(components, component), append(whys, part.Why)
		}
	}
	return strings.Join(whys, " ")
}

// editAll makes one edit of those of the documents.
func editAll(shares []share, of func(transform.Stage) (*yamledit.Edit, error)) (all *yamledit.Edit, err error) {
	for _, part := range shares {
		edit, err := of(part.Stage)
		switch {
		case err != nil:
			return nil, err
		case all == nil:
			all = edit
		default:
			all = all.With(edit)
		}
	}
	return all, nil
}

// actions are those of all documents, each command once. Where kubeadm's configuration
// is one of the documents, nothing refers to it.
func (c *cluster) actions(shares []share, of func(transform.Stage) []action.Action) []action.Action {
	var all []action.Action
	given := slices.ContainsFunc(c.members, func(m *migration) bool { return m.Kind == kindConfiguration })
	for _, part := range shares {
		for _, a := range of(part.Stage) {
			known := slices.ContainsFunc(all, func(b action.Action) bool { return b.Command == a.Command })
			if !known && !(given && a.Command == action.KubeadmSource().Command) {
				all = append(all, a)
			}
		}
	}
	return all
}

// filesOf are those of all documents.
func filesOf(shares []share) (all []action.File, err error) {
	for _, part := range shares {
		if part.Files == nil {
			continue
		}
		files, err := part.Files()
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}
