// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rules"
)

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
