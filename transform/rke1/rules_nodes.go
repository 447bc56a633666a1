// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// upgradeForMetadata is what to do on a release that cannot take names from the
// metadata.
const upgradeForMetadata = "upgrade to 1.25.14, 1.26.9, 1.27.6 or later first, or in the switch with --target-version; or give every node its private DNS name as hostname_override"

func (m *migration) metadataUnsupported(found *transform.Findings) {
	if m.usesMetadata() && !metadataSupported(m.move().Reached()) {
		found.At(m.near(m.get(providerKey, metadataKey)), "the kubelets of this release cannot read their names from the instance metadata", upgradeForMetadata)
	}
}

// metadataConflict names the nodes that the file names as well.
func (m *migration) metadataConflict(found *transform.Findings) {
	for i, n := range m.Read.Nodes {
		if m.usesMetadata() && hasOwnName(n) {
			found.At(m.near(m.node(i, "hostname_override")), metadataKey+" is true, so RKE ignores this name, and the node gets the name from the instance metadata", "keep one of the two: remove the name, or set "+metadataKey+": false where every node has its private DNS name here")
		}
	}
}

// metadataUnset checks clusters that are external: before, the switch decides.
func (m *migration) metadataUnset(found *transform.Findings) {
	if !m.isNamedExternal() || m.usesMetadata() || !m.lacksOwnName() || m.target.HostNames.Equal() {
		return
	}
	fix := upgradeForMetadata
	switch {
	case m.ownNames():
		fix = "give every node its private DNS name as hostname_override, or none of them and set " + metadataKey + ": true"
	case metadataSupported(m.move().Reached()):
		fix = "set " + metadataKey + ": true, if the nodes still have the names from EC2"
	}
	found.At(m.near(m.get(providerKey, metadataKey)), "nothing keeps the names of the nodes from EC2: kubelets use their address or host name, and register as new Nodes", fix)
}

// node returns a part of a node, or the node where it lacks it.
func (m *migration) node(i int, key string) yamledit.Node {
	item := m.get(nodesKey).Items()[i]
	return yamledit.First(m.spelling.get(item, key), item)
}

// nodeAddressMissing depends on how RKE finds a node under external-aws (rancher/rke
// #3445): by its name, or by its internal address, which is its address where it
// has none.
func (m *migration) nodeAddressMissing(found *transform.Findings) {
	for i, n := range m.Read.Nodes {
		if n.InternalAddress != "" || hasOwnName(n) || !m.isOnAWS() {
			continue
		}
		f := found.At(m.near(m.node(i, "address")), "the node has no internal_address, and under "+externalName+" RKE finds it by its address, which must be the internal one of the node", "set internal_address, or its private DNS name as hostname_override")
		if isPrivate(n.Address) {
			f.Severity = transform.Warning
		}
	}
}

// notMigratable finds what the other verbs refuse, and a cluster for Windows.
func (m *migration) notMigratable(found *transform.Findings) {
	if n := m.windowsCluster(); n.Exists() {
		found.At(n, "the cluster is for Windows machines", "plan for their restart, and verify them manually").Severity = transform.Warning
	}
	found.Add(transform.NotMigratableIn(m.checkProvider())...)
}

func (m *migration) windowsCluster() yamledit.Node {
	for _, key := range []string{"windows_prefered_cluster", "windowsPreferedCluster"} {
		for _, path := range parents {
			if n := m.Doc.Root().Get(slices.Concat(path, []string{key})...); n.Value() == true {
				return n
			}
		}
	}
	return yamledit.Node{}
}
