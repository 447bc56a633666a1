// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/rancher/rke/types"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	inTree        = aws.Name
	externalName  = aws.ExternalName // what RKE calls it; components get external
	external      = "external"
	componentFlag = "cloud-provider"
	leaderFlag    = "enable-leader-migration"
)

// components are the services with a flag --cloud-provider of their own; what
// is in their arguments wins over the cluster's provider.
var components = []string{apiService, manager, kubelet}

// provider returns the cloud provider that RKE takes: a block of settings chooses
// it, and its name is overwritten (rancher/rke, cloudprovider).
func (c *Cluster) provider() string {
	p := c.Read.CloudProvider
	name := p.Name
	for _, chosen := range []struct {
		block bool
		name  string
	}{
		{p.AWSCloudProvider != nil, inTree}, {p.AzureCloudProvider != nil, "azure"}, {p.OpenstackCloudProvider != nil, "openstack"},
		{p.VsphereCloudProvider != nil, "vsphere"}, {p.HarvesterCloudProvider != nil, "harvester"},
		{p.CustomCloudProvider != "", p.Name},
	} {
		if chosen.block {
			name = chosen.name
		}
	}
	return name
}

// argsOf returns the arguments of a service in the order in which the component
// gets them: those that may be repeated come last.
func (c *Cluster) argsOf(service string) []args.Arg {
	return append(args.OfMap(c.get(servicesKey, service, argsKey)), args.OfMap(c.get(servicesKey, service, argsArrayKey))...)
}

// component returns the cloud provider of a component.
func (c *Cluster) component(service string) string {
	if a, set := args.Last(c.argsOf(service), componentFlag); set {
		return a.Value
	}
	if p := c.provider(); p != externalName {
		return p
	}
	return external
}

// isExternal reports whether the manager does not run the in-tree provider any
// more.
func (c *Cluster) isExternal() bool { return c.component(manager) == external }

// migrates reports whether the manager has the flag.
func (c *Cluster) migrates() bool { return args.Enables(c.argsOf(manager), leaderFlag) }

// checkProvider refuses clusters that are not on AWS.
func (c *Cluster) checkProvider() error {
	at := yamledit.First(c.get(providerKey), c.Config)
	switch p := c.provider(); {
	case p == inTree, p == externalName:
		return c.checkComponents()
	case p == "harvester":
		return transform.NothingToMigrate(at, "the cloud provider harvester is external")
	case p == "":
		return transform.NotMigratable(at, "no cloud provider is set", "only clusters with the provider aws are migrated")
	default:
		return transform.NotMigratable(at, "the cloud provider is not aws, but "+strconv.Quote(p), "migrate it with the procedure of that provider")
	}
}

// checkComponents refuses a provider of a component that is neither of the two.
func (c *Cluster) checkComponents() error {
	for _, service := range components {
		for _, at := range c.places(service) {
			if err := rules.CheckProvider(args.OfMap(at), service, service == manager); err != nil {
				return err
			}
		}
	}
	return nil
}

// workers reports whether a control plane may be a worker, too. Machines that
// Rancher registers are not in the file.
func (c *Cluster) workers() bool {
	return len(c.Read.Nodes) == 0 || slices.ContainsFunc(c.Read.Nodes, func(n node) bool {
		return isControlPlane(n) && slices.Contains(n.Role, "worker")
	})
}

// places returns where the arguments of a service may be.
func (c *Cluster) places(service string) []yamledit.Node {
	keys := []string{argsKey, argsArrayKey}
	if service == kubelet {
		keys = append(keys, winArgsKey, winArrayKey)
	}
	return lists.Where(lists.Map(keys, func(key string) yamledit.Node { return c.get(servicesKey, service, key) }), yamledit.Node.IsMap)
}

// situation reports what the release and the provider leave of a migration. The file of a
// cluster that is external does not show whether the chart takes part in one.
func (m *migration) situation() transform.Situation {
	inTreeLeft := slices.ContainsFunc(components, func(service string) bool { return m.component(service) == inTree })
	if !k8s.From(m.Version, aws.FirstWithout) {
		return transform.InTree
	}
	switch {
	case inTreeLeft:
		return transform.Broken
	case m.neverGranted() && !m.migrates() && (m.file == nil || !m.file.Migrates()):
		return transform.Rescued
	}
	return transform.InTree
}

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
