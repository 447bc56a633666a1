// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rancher/rke/types"
	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const controlPlaneRole = "controlplane"

// Cluster is a cluster of RKE, read off a document.
type Cluster struct {
	Doc     *yamledit.Document
	Config  yamledit.Node // RKE's configuration: the root, or what an object of Rancher holds
	Wrapped bool          // an object of Rancher holds it
	Name    string
	Version string // of the document, or else the assumed one
	Read    config // as RKE reads Config

	spelling spelling
}

// Open reads a cluster. It fails with a *yamledit.Error for what RKE would refuse
// or what cannot be read off the document with certainty. assumeVersion
// replaces a version that the document does not state.
func Open(doc *yamledit.Document, assumeVersion string) (*Cluster, error) {
	c, err := load(doc)
	if err != nil {
		return nil, err
	}
	return c, c.setVersion(assumeVersion)
}

// load reads all but the version, which is required only of clusters on AWS.
func load(doc *yamledit.Document) (*Cluster, error) {
	c := &Cluster{Doc: doc, Name: identify(doc).Name}
	c.Config, c.spelling, c.Wrapped = configOf(doc.Root())
	if !c.Config.IsMap() {
		return nil, doc.Root().Errorf("not the configuration of an RKE cluster", "name a cluster.yml, or an object of Rancher that holds one")
	}
	if c.Wrapped {
		if err := k8s.CheckNames(doc.Root().Get("metadata")); err != nil {
			return nil, err
		}
	}
	var err error
	c.Read, err = read(c.Config, c.spelling)
	return c, err
}

// identify reads a cluster's name off its document: RKE's own, or that of the
// object of Rancher.
func identify(doc *yamledit.Document) transform.Identity {
	config, s, _ := configOf(doc.Root())
	own := doc.Root().StringAt
	return transform.Identity{Format: Name, Name: cmp.Or(s.get(config, clusterKey).StringAt(), own("metadata", "name"), own("name"))}
}

// get follows keys of RKE from the configuration on.
func (c *Cluster) get(keys ...string) yamledit.Node { return c.spelling.get(c.Config, keys...) }

// put writes a value at the end of a path of keys, each as the document spells it.
func (c *Cluster) put(e *yamledit.Edit, value any, path ...string) {
	written, at := make([]string, len(path)), c.Config
	for i, key := range path {
		written[i], at = c.spelling.of(key), c.spelling.get(at, key)
		if at.Exists() {
			written[i] = at.Key()
		}
	}
	e.Put(c.Config, value, written...)
}

var releaseForm = regexp.MustCompile(`^v\d+\.\d+\.\d+-rancher\d+(-\d+)?$`)

func isRelease(version string) bool {
	return releaseForm.MatchString(version) && semver.IsValid(version)
}

// setVersion takes the release of the file. The tag of an own Kubernetes image
// replaces one that is not stated.
func (c *Cluster) setVersion(assumed string) (err error) {
	stated := strings.TrimSpace(c.Read.Version)
	if stated == "" && isRelease(c.imageTag()) {
		stated = c.imageTag()
	}
	c.Version, err = k8s.Statement{
		At: yamledit.First(c.get(versionKey), c.Config), Holder: c.Config, Key: c.spelling.of(versionKey),
		Stated: stated, Assumed: assumed,
		Format: "an RKE", Example: "v1.26.15-rancher1-1", Is: isRelease,
	}.Version()
	return err
}

// checkMinor refuses a minor that RKE has no release of: it ends at the last one that values of
// the chart are known for.
func (c *Cluster) checkMinor() error {
	return checkMinor(yamledit.First(c.get(versionKey), c.Config), c.Version, "correct the version; for a later one, move the workloads to a cluster of RKE2")
}

func checkMinor(at yamledit.Node, version, do string) error {
	minor := semver.MajorMinor(version)
	if newest[minor] != "" {
		return nil
	}
	return at.Errorf("RKE has no release of Kubernetes "+strings.TrimPrefix(minor, "v")+", but of "+ccm.Known(Name), do)
}

// imageTag returns the tag of an own Kubernetes image, which counts before the
// version (rancher/rke, types), or "".
func (c *Cluster) imageTag() string {
	i := strings.LastIndexAny(c.Read.SystemImages.Kubernetes, ":/")
	if i < 0 || c.Read.SystemImages.Kubernetes[i] != ':' {
		return ""
	}
	return c.Read.SystemImages.Kubernetes[i+1:]
}

// check compares what RKE reads before and after a stage, which promises what may change. The path to a value is spelt as in
// Rancher's API, in every document.
func (m *migration) check(after *migration, promised func(path string, before, after any) bool) error {
	path, changes := transform.Unpromised(m.values(), after.values(), promised)
	return cmp.Or(transform.Require(!changes, "%s would change", path), m.strictness().Allows(after.strictness()))
}

// values returns every value that RKE reads by the path to it.
func (c *Cluster) values() map[string]any {
	var v any
	_ = json.Unmarshal([]byte(yamledit.JSON(c.Read)), &v) // which is JSON
	found := map[string]any{}
	flatten("", v, found)
	return found
}

func flatten(path string, v any, into map[string]any) {
	m, isMap := v.(map[string]any)
	if !isMap {
		into[path] = v
		return
	}
	for key, inner := range m {
		if path != "" {
			key = path + "." + key
		}
		flatten(key, inner, into)
	}
}

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
	switch p := c.Read.CloudProvider; { // the last block that is set
	case p.CustomCloudProvider != "":
		return p.Name
	case p.HarvesterCloudProvider != nil:
		return "harvester"
	case p.VsphereCloudProvider != nil:
		return "vsphere"
	case p.OpenstackCloudProvider != nil:
		return "openstack"
	case p.AzureCloudProvider != nil:
		return "azure"
	case p.AWSCloudProvider != nil:
		return inTree
	default:
		return p.Name
	}
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
	return lists.Check(components, func(service string) error {
		return lists.Check(c.places(service), func(at yamledit.Node) error {
			return rules.CheckProvider(args.OfMap(at), service, service == manager)
		})
	})
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
	keys := append([]string{argsKey, argsArrayKey}, lists.If(service == kubelet, winArgsKey, winArrayKey)...)
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
		!slices.Contains(m.Target.Accept, ruleMetadataUnset)
}

// isPrivate reports whether an address is one that EC2 may have given to the
// machine itself.
func isPrivate(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && a.IsPrivate()
}
