// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"net/netip"
	"slices"

	"github.com/rancher/rke/types"

	"github.com/rke-lm/rke-lm/transform/k8s"
)

// node is a machine that the file lists. Those of a node driver, and custom ones
// that Rancher registers, are not in it.
type node = types.RKEConfigNode

// hasOwnName reports whether a node has a name of its own. RKE gives it its
// address for a name otherwise (rancher/rke, cluster/defaults.go).
func hasOwnName(n node) bool { return n.HostnameOverride != "" && n.HostnameOverride != n.Address }

// ownNames and lacksOwnName report whether a machine has, or lacks, a name of its
// own.
func (c *Cluster) ownNames() bool { return slices.ContainsFunc(c.Read.Nodes, hasOwnName) }

func (c *Cluster) lacksOwnName() bool {
	return len(c.Read.Nodes) == 0 || slices.ContainsFunc(c.Read.Nodes, func(n node) bool { return !hasOwnName(n) })
}

// metadataSupported reports whether the kubelet of a release can take its name from the
// instance metadata (rke-tools 0.1.95).
func metadataSupported(version string) bool {
	return k8s.Since(version, "v1.25.14", "v1.26.9", "v1.27.6")
}

// usesMetadata reports whether the file says so. Stored clusters hold a false that
// no one chose.
func (c *Cluster) usesMetadata() bool {
	on := c.Read.CloudProvider.UseInstanceMetadataHostname
	return on != nil && *on
}

// wantsMetadata decides for the switch: the names that the in-tree provider took
// from EC2 stay the same only if the kubelets take them from the metadata, unless
// the file names the machines, or the operator answers for the names. A cluster that
// is external already keeps what it has: its nodes would be renamed.
func (m *migration) wantsMetadata() bool {
	return m.provider() == inTree && !m.usesMetadata() && !m.ownNames() && metadataSupported(m.move().Reached()) &&
		!slices.Contains(m.target.Accept, ruleMetadataUnset)
}

// isPrivate reports whether an address is one that EC2 may have given to the
// machine itself.
func isPrivate(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && a.IsPrivate()
}
