// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
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
	target   transform.Target
	electors stages.Electors // nothing of a manifest that lint opened
	stage    string          // the one that rules check the document after; "" for the document as it is
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

// Chosen implements transform.Cluster.
func (m *migration) Chosen() transform.Target { return m.target }

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
	return m.stages().InOrder(stages.Set{
		Grant: m.grantMigrationLease, Enable: m.enableLeaderMigration, Install: m.installCCM,
		Cordon: m.cordon().Stage, Switch: m.switchToExternal, Uncordon: m.cordon().Release,
		Disable: m.disableLeaderMigration,
	})
}

// stages is what all formats have in common of them.
func (m *migration) stages() stages.Cluster {
	return stages.Cluster{Target: m.target, Electors: m.electors}
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
