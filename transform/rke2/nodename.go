// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// nodeNameKey takes the name of a node from the instance metadata, whatever the
// provider.
const nodeNameKey = "node-name-from-cloud-provider-metadata"

// ownNodeName lists the first releases whose RKE2 has nodeNameKey. On every
// release cloud-provider-name: aws takes the name of a node from the instance
// metadata; from these on that is all that it does: RKE2 sets nodeNameKey, empties
// the provider and hands none to any component (rancher/rke2,
// pkg/rke2/rke2_linux.go at v1.24.17, v1.26.15, v1.28.9, v1.29.11, v1.30.7,
// v1.31.4, v1.34.1 and v1.36.0).
var ownNodeName = []string{"v1.29.11", "v1.30.7", "v1.31.3"}

// onlyNamesNodes reports whether aws is no cloud provider any more.
func (m *migration) onlyNamesNodes() bool { return reached(m.Version, ownNodeName) }

// namedByMetadata reports whether machines of a class take their name from the
// instance metadata whatever their provider is.
func (m *migration) namedByMetadata(c Class) bool {
	return m.onlyNamesNodes() && truthy(m.Effective(c)[nodeNameKey].Value)
}

// nodeRename leaves out machines that take their names from the metadata anyway.
func (m *migration) nodeRename() []transform.Finding {
	if m.isOverridden() {
		return nil
	}
	var found []transform.Finding
	for _, at := range m.winners(providerKey, func(c Class) bool { return !m.namedByMetadata(c) }) {
		if name, _ := at.String(); rules.NodeRename.Applies(name, m.stage, m.target) {
			found = append(found, rules.NodeRename.At(at, m.stage, m.renames(), m.keepsNames())...)
		}
	}
	return found
}

func (m *migration) renames() string {
	const then = "with external the kubelet uses the host name, and a node whose name changes registers as a new Node, whose name the cloud-controller-manager cannot resolve"
	if m.onlyNamesNodes() {
		return "with aws RKE2 " + m.Version + " reads the node's name from the instance metadata, and does nothing else; " + then
	}
	return "with aws RKE2 " + m.minor() + " also reads the node's name from the instance metadata; " + then
}

func (m *migration) keepsNames() string {
	if m.onlyNamesNodes() {
		return "nothing: the stages keep the names; with --end-state external, make sure that every node's name equals its host name, or that every machine gets " + nodeNameKey + ": true"
	}
	return "make sure that every node's name equals its host name, then use --end-state external; or use aws-override"
}

// nameOnlyWhy reports what the switch does on a release where aws was only a name.
func (m *migration) nameOnlyWhy() string {
	why := "On RKE2 " + m.Version + " cloud-provider-name: aws reads the node's name from the instance metadata and does nothing else: no component has a cloud provider. " +
		"After this stage a new node registers with a taint, and the cloud-controller-manager initializes it; Nodes that exist keep what they have. "
	switch {
	case m.endState() == transform.EndStateOverride:
		return why
	case m.keepsNamesAsExternal():
		return why + nodeNameKey + " keeps the names of the nodes. "
	}
	return why + "With external the kubelet uses the host name, and a node whose name changes registers as a new Node. "
}
