// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

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
	return m.stages().InOrder(stages.Set{Grant: not, Enable: not, Install: not, Cordon: not, Switch: m.registrationSwitch, Uncordon: not, Disable: not})
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
		Change:      transform.ChangeOf(m.Doc, m.target, edit, m.checkRegistration, m.registrationUndo),
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
	switches := name == inTree || name == external && m.stage != "" && m.target.Named[Name]
	if m.Component == cloudManager || m.isNamed() || !switches || !rules.NamesOpen(m.target) {
		return
	}
	if list := m.target.HostNames.Changes(); len(list) > 0 {
		rules.RenameAt(at, m.stage, "external renames "+rules.Some(list)+": in-tree kubelets name their nodes after the private DNS names of the instances, external kubelets use the host name, and each of these registers as a new Node",
			"set the host name of each machine, or --hostname-override of its kubelet, to the name of its Node; or accept the new names with --accept node-rename", found)
		return
	}
	rules.RenameAt(at, m.stage, "in-tree kubelets name their nodes after the private DNS names of the instances, regardless of the host names; external kubelets use the host name, and a node whose name changes registers as a new Node, whose name the cloud-controller-manager cannot resolve",
		cmp.Or(rules.NamesMissing(m.target, "accept the new names with --accept node-rename"), "show with --host-names that every node's name equals its host name; or compare it with its --hostname-override, and use --end-state external"), found)
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
