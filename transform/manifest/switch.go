// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const nodeIPAM = "nodeipam"

// switchToExternal makes kube-controller-manager external and takes it out of the
// migration in the same edit: an external manager with the flag holds the lease
// and runs nothing.
func (m *migration) switchToExternal() transform.Stage {
	if m.Component != kubeManager {
		return m.Switched(stages.InOtherDocument("The manifest of kube-controller-manager makes it external; the cloud-controller-manager acquires the migration lease and needs no edit. The kubelets have no manifest, and become external at the end.",
			action.KubeletProvider(inTree, external, "once kube-controller-manager is external on every control-plane node", "")))
	}
	why, _ := m.SwitchWhy(false, nil)
	return m.Switch(transform.Stage{
		Why: why +
			"The edit also removes its configuration, with mount and volume. Change one control-plane node at a time." +
			stages.Also(m.Target.NodeIPAM, " The nodeipam controller moves to the cloud-controller-manager as well, so kube-controller-manager stops running it.") + m.move().Why(),
		Prepare: stages.Credentials(m.move(), false, aws.OfKubernetes),
		Change:  transform.ChangeOf(m.Doc, m.Target, m.switchEdit, m.checkSwitch, m.switchUndo),
		After:   slices.Concat(m.rollOut(), m.providers(inTree, external, "at the end"), m.removeConfiguration()),
		Caution: strings.TrimSpace("Return one node at a time to the old release, each with leader migration on. " + m.move().Caution()),

		UndoBefore: m.switchUndoBefore(),
		UndoAfter:  m.rollOut(),
	})
}

// switchUndoBefore is what the reverse needs first: the configuration, which may have
// been taken away since, and the kubelets.
func (m *migration) switchUndoBefore() []action.Action {
	back := m.providers(external, inTree, "first")
	slices.Reverse(back)
	return append(m.configurationBack(), back...)
}

// providers changes the provider of the components that have no plan of their
// own. kube-apiserver has no such flag from 1.33 on.
func (m *migration) providers(from, to, when string) []action.Action {
	if m.Kind == kindConfiguration {
		return nil
	}
	kubelet := action.KubeletProvider(from, to, when, "; with kubeadm also in kubeletExtraArgs of InitConfiguration and JoinConfiguration, for new nodes, which rke-lm plans like this document")
	if k8s.From(m.move().Reached(), "v1.33") {
		return []action.Action{kubelet}
	}
	return []action.Action{action.APIServerProvider(from, to), kubelet}
}

func (m *migration) switchEdit(e *yamledit.Edit) {
	if move := m.move(); move.Planned() {
		m.moveTo(e, move.To)
	}
	u := args.Update{Set: []args.Arg{args.With(providerFlag, external)}}
	if value, changes := m.withoutIPAM(); changes {
		u.Set = append(u.Set, args.With(leadermigration.ControllersFlag, value))
	}
	m.leave(e, u)
	moveProvider(e, m.apiServer, inTree, external) // kubeadm would write it again as it was
}

// withoutIPAM returns the list of controllers that leaves nodeipam out, where the
// operator moves it and the list does not say so yet.
func (m *migration) withoutIPAM() (value string, changes bool) {
	if !m.Target.NodeIPAM {
		return "", false
	}
	names := []string{"*"}
	if a, found := m.flag(leadermigration.ControllersFlag); found {
		names = strings.Split(a.Value, ",")
	}
	if slices.Contains(names, "-"+nodeIPAM) {
		return "", false
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == nodeIPAM })
	return strings.Join(append(names, "-"+nodeIPAM), ","), true
}

// checkSwitch requires an external manager without anything of the migration, and
// nothing else changed.
func (m *migration) checkSwitch(after *migration) error {
	flags := slices.Concat(joining(), []string{providerFlag}, lists.If(m.Target.NodeIPAM, leadermigration.ControllersFlag))
	p := promise{flags: flags, configuration: true, release: m.move().Planned(), server: true}
	server, _ := after.serverProvider()
	_, left := after.withoutIPAM()
	return cmp.Or(m.check(after, p),
		transform.Require(after.isExternal(), "%s would not be external", m.Component),
		transform.Require(server.Value != inTree, "kubeadm would generate an in-tree kube-apiserver again"),
		transform.Require(!left, "%s would still run %s", m.Component, nodeIPAM),
		after.checkLeft())
}

// move is the upgrade to the target version. A release of a distribution counts as
// the release of Kubernetes that it is made from.
func (m *migration) move() k8s.Upgrade {
	to := cmp.Or(releaseOf(m.Target.Version), m.Target.Version)
	return k8s.Upgrade{From: m.Version, To: to, Format: "a Kubernetes", Example: "v1.27.16", Is: isRelease}
}

// moveTo writes a release where the manifest states its own: into the tag of the
// image, whose registry stays, or as the version of a ClusterConfiguration.
func (m *migration) moveTo(e *yamledit.Edit, tag string) {
	at, stated := m.versionAt()
	move, image := m.move(), k8s.ParseImage(at.StringAt())
	move.To, move.At, move.Holder = tag, at, m.Root
	switch {
	case tag == stated:
	case m.Kind == kindConfiguration:
		move.Queue(e)
	case image.Digest != "" || releaseOf(stated) != stated:
		e.Fail(at.Errorf("the image has a digest, or a tag with more than the release, so the release cannot be changed", "remove --target-version, and change the image manually"))
	default:
		e.Fail(move.Check(at))
		e.Set(at, image.Name+":"+tag)
	}
}

// The reverse of a stage removes what the stage would have written, if it is
// as the stage writes it. plan.Undo proves that the stage would write
// it again; what is decided here is which of several predecessors is meant.

// joinUndo takes a manager out of the migration: what join writes goes, the last
// arguments with their mount and their volume. Of an external manager the switch
// is undone first.
func (m *migration) joinUndo(e *transform.Reverse) {
	if !m.on(leaderFlag) {
		return
	}
	if a, _ := m.flag(leaderFlag); !m.isJoined() {
		e.Fail(transform.Lost(a.Node(), "--"+leaderFlag+" differs from what rke-lm writes, so it existed before"))
	}
	m.leave(e.Edit, args.Update{Remove: m.joined()})
	m.emptied(e)
}

// isJoined reports whether the flags of the migration are where join puts them.
func (m *migration) isJoined() bool {
	texts := args.Texts(m.arguments.List())
	ours := []string{"--" + leaderFlag}
	if a, found := m.flag(configFlag); found {
		ours = append(ours, "--"+configFlag+"="+a.Value)
	}
	if len(m.joined()) > 0 {
		ours = append(ours, lists.Map(m.short(), func(a args.Arg) string { return "--" + a.Text })...)
	}
	if m.Kind == kindConfiguration {
		return true // a mapping may have sorted them in
	}
	return slices.Equal(texts[len(texts)-len(ours):], ours) // each of ours is one of them, as joinUndo requires the flag
}

// joined are the flags of short leases that the manager has.
func (m *migration) joined() []string {
	return lists.If(leadermigration.HasTimings(m.arguments.List(), m.short()), args.Names(m.short())...)
}

// emptied makes the choice for the lists that go with their last item.
func (m *migration) emptied(e *transform.Reverse) {
	a, found := m.flag(configFlag)
	mount := m.mountOf(a.Value)
	for _, n := range []yamledit.Node{mount, m.volumeOf(mount)} {
		if list := n.Parent(); found && n.Exists() && list.Len() == 1 {
			e.Usual(list, "it contains nothing else, and was either absent or empty before")
		}
	}
}

// switchUndo makes the manager in-tree again and lets it join the migration in
// the same edit: without the flag both managers would run the cloud controllers.
func (m *migration) switchUndo(e *transform.Reverse) {
	if !m.isExternal() {
		return
	}
	at, _ := m.versionAt()
	e.Fail(k8s.CheckRollback(m.Version, at))
	back, err := *m, error(nil)
	back.Target, err = m.Undone(e, at)
	e.Fail(err)
	if m.move().To == m.Version {
		e.Usual(at, "the release before the switch was this one or an older one")
	}
	u := args.Update{Set: []args.Arg{args.With(providerFlag, inTree)}}
	m.withIPAM(e, &u)
	m.arguments.Apply(e.Edit, u)
	moveProvider(e.Edit, m.apiServer, external, inTree)
	if !m.Target.NoLeaderMigration {
		back.join(e.Edit)
	}
}

// withIPAM lets kube-controller-manager run nodeipam again.
func (m *migration) withIPAM(e *transform.Reverse, u *args.Update) {
	a, found := m.flag(leadermigration.ControllersFlag)
	if !m.Target.NodeIPAM || !found {
		return
	}
	names := strings.Split(a.Value, ",")
	left := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "-"+nodeIPAM })
	switch {
	case len(left) == len(names):
	case slices.Equal(left, []string{"*"}):
		u.Remove = append(u.Remove, leadermigration.ControllersFlag)
		e.Usual(a.Node(), "it contains nothing else, and was absent or * before")
	default:
		u.Set = append(u.Set, args.With(leadermigration.ControllersFlag, strings.Join(left, ",")))
	}
}

// disableUndo lets the cloud-controller-manager join the migration again.
func (m *migration) disableUndo(e *transform.Reverse) {
	if m.on(leaderFlag) && m.Target.KeepLeaderMigration {
		m.imageBack(e)
	}
	if !m.finished() || m.on(leaderFlag) {
		return
	}
	at := m.Root.Get("metadata", "annotations", markKey)
	e.Usual(at, "the flag was at an unknown place among the arguments, and the image may have been a different one")
	drop(e.Edit, at)
	m.join(e.Edit)
}

// imageBack makes the choice for an image that the last stage may have moved: the one before
// is nowhere in the file.
func (m *migration) imageBack(e *transform.Reverse) {
	tag := cmp.Or(m.Target.ImageTag, ccm.TestedTag(m.Target.Version))
	if at, stated := m.versionAt(); tag != "" && tag == stated {
		e.Usual(at, "the image was this one or that of another release")
	}
}

// kubelet is the component of an InitConfiguration or a JoinConfiguration.
const kubelet = "kubelet"

// nodeConfiguration is as much of an InitConfiguration or a JoinConfiguration as
// is read (k8s.io/kubernetes cmd/kubeadm/app/apis/kubeadm, v1beta2 to v1beta4).
type nodeConfiguration struct {
	NodeRegistration struct {
		Name string `json:"name"`
	} `json:"nodeRegistration"`
}

// registers reports whether documents of a kind hold the kubelet's arguments of a
// new node.
func registers(kind string) bool { return ofKubeadm[kind] == kubelet }

// kubeletArgs is where an InitConfiguration or a JoinConfiguration has the
// arguments of the kubelet.
func kubeletArgs(root yamledit.Node) yamledit.Node {
	return root.Get("nodeRegistration", "kubeletExtraArgs")
}

// namesProvider reports whether the kubelet of a new node gets a provider.
func namesProvider(root yamledit.Node) bool {
	at := kubeletArgs(root)
	return at.Get(providerFlag).Exists() || slices.ContainsFunc(at.Items(), func(n yamledit.Node) bool {
		return n.StringAt("name") == providerFlag
	})
}

// registrationStages are those of a document for new nodes: the switch alone
// changes it.
func (m *migration) registrationStages() []transform.Listed {
	const others = "This document is for the kubelets of new nodes; the plans of the managers have this stage."
	not := func() transform.Stage { return stages.InOtherDocument(others) }
	return m.InOrder(stages.Set{Grant: not, Enable: not, Install: not, Cordon: not, Switch: m.registrationSwitch, Uncordon: not, Disable: not})
}

// registrationSwitch makes the kubelets of nodes to come external. Those that run
// are changed on their machines, after the managers; back they go first. The
// cloud-controller-manager is in another document, and a node that joins before it waits
// to be initialised.
func (m *migration) registrationSwitch() transform.Stage {
	name, _ := m.provider()
	edit := func(e *yamledit.Edit) { moveProvider(e, m.arguments, inTree, external) }
	return transform.Stage{
		Why: "kubeadm passes these arguments to the kubelet of a node that it initializes or joins: the edit affects new nodes, not existing ones. " +
			"An external kubelet waits for a cloud-controller-manager to initialize its node, so use this file for new nodes only after the switch of the managers.",
		Change:      transform.ChangeOf(m.Doc, m.Target, edit, m.checkRegistration, m.registrationUndo),
		After:       []action.Action{action.KubeletProvider(inTree, external, "at the end", "")},
		UndoBefore:  []action.Action{action.KubeletProvider(external, inTree, "first", "")},
		AfterManual: lists.If(name == inTree, rules.TheChart...),
		Verify:      []action.Action{action.ProviderIDs()},
	}
}

// moveProvider changes the provider among arguments, where it is the one that is expected.
func moveProvider(e *yamledit.Edit, in arguments, from, to string) {
	if args.Value(in.List(), providerFlag) == from {
		in.Apply(e, args.Update{Set: []args.Arg{args.With(providerFlag, to)}})
	}
}

func (m *migration) registrationUndo(e *transform.Reverse) {
	if name, at := m.provider(); name == external {
		e.Fail(k8s.CheckRollback(m.move().Reached(), at))
	}
	moveProvider(e.Edit, m.arguments, external, inTree)
}

func (m *migration) checkRegistration(after *migration) error {
	name, _ := after.provider()
	return cmp.Or(m.check(after, promise{flags: []string{providerFlag}}), transform.Require(name == external, "the kubelets of new nodes would not be external"))
}

// nodeRename is about kubelets, which become external with the managers: in-tree,
// the provider names the node by the private DNS name of its instance and passes
// over the host name and --hostname-override; external, these two name it
// (kubernetes 1.26, cmd/kubelet/app/server.go, getNodeName; legacy-cloud-providers,
// aws, CurrentNodeName).
func (m *migration) nodeRename(found *transform.Findings) {
	name, at := m.provider()
	switches := name == inTree || name == external && m.Stage != "" && m.Target.Named[Name]
	if m.Component == cloudManager || m.isNamed() || !switches || !rules.NamesOpen(m.Target) {
		return
	}
	if list := m.Target.HostNames.Changes(); len(list) > 0 {
		rules.RenameAt(at, m.Stage, "external renames "+rules.Some(list)+": in-tree kubelets name their nodes after the private DNS names of the instances, external kubelets use the host name, and each of these registers as a new Node",
			"set the host name of each machine, or --hostname-override of its kubelet, to the name of its Node; or accept the new names with --accept node-rename", found)
		return
	}
	rules.RenameAt(at, m.Stage, "in-tree kubelets name their nodes after the private DNS names of the instances, regardless of the host names; external kubelets use the host name, and a node whose name changes registers as a new Node, whose name the cloud-controller-manager cannot resolve",
		cmp.Or(rules.NamesMissing(m.Target, "accept the new names with --accept node-rename"), "show with --host-names that every node's name equals its host name; or compare it with its --hostname-override, and use --end-state external"), found)
}

// isNamed reports whether kubeadm names the node as EC2 does. kubeadm passes the name
// to the kubelet as --hostname-override.
func (m *migration) isNamed() bool {
	if !registers(m.Kind) {
		return false
	}
	name := m.Root.StringAt("nodeRegistration", "name")
	if a, found := m.flag("hostname-override"); found {
		name = a.Value
	}
	return aws.IsDNSName(name)
}
