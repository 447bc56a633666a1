// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"cmp"
	"strings"
	"sync"

	provv1 "github.com/rancher/rancher/pkg/apis/provisioning.cattle.io/v1"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Cluster is an RKE2 cluster, read off a document.
type Cluster struct {
	effective.Machines
	Root            yamledit.Node
	Name, Namespace string
	Version         string // of the document, or else the assumed one

	pools  []provv1.RKEMachinePool
	strict k8s.Strictness

	manifests func() ([]*yamledit.Document, error) // of additionalManifest
	charts    func() ([]ccm.Chart, error)          // of the cloud-controller-manager, among them
}

// IsCluster reports whether a document is a cluster of Rancher's provisioning
// API, whatever its distribution.
func IsCluster(doc *yamledit.Document) bool {
	return doc.Root().StringAt("apiVersion") == "provisioning.cattle.io/v1" && doc.Root().StringAt("kind") == "Cluster"
}

// Open reads a cluster. It fails with a *transform.Refused for what is none of
// RKE2, and with a *yamledit.Error for what Rancher would refuse or what cannot
// be read off the document with certainty. assumeVersion replaces a version
// that the document does not state.
func Open(doc *yamledit.Document, assumeVersion string) (*Cluster, error) {
	return openFor(doc, transform.Target{AssumeVersion: assumeVersion})
}

// openFor is Open with the machines of a live cluster, once for each document.
func openFor(doc *yamledit.Document, t transform.Target) (*Cluster, error) {
	type known struct {
		version  string
		machines *transform.Machines
	}
	return yamledit.Attempt(doc, known{t.AssumeVersion, t.Machines}, func() (*Cluster, error) { return openNew(doc, t) })
}

func openNew(doc *yamledit.Document, t transform.Target) (*Cluster, error) {
	c, err := describe(doc, t.AssumeVersion)
	if err != nil {
		return nil, err
	}
	classes, err := c.classes(t.Machines)
	if err := cmp.Or(err, c.checkReferences()); err != nil {
		return nil, err
	}
	c.Settle(classes)
	c.manifests = sync.OnceValues(leadermigration.Bundle{Holder: c.RKEConfig(), Key: manifestKey}.Documents)
	c.charts = sync.OnceValues(c.findCharts)
	return c, nil
}

// describe reads what decides on the configuration of a machine, whatever machines the cluster has. It
// fails as Open does.
func describe(doc *yamledit.Document, assumeVersion string) (*Cluster, error) {
	root := doc.Root()
	if !IsCluster(doc) {
		return nil, root.Errorf("not a Cluster of provisioning.cattle.io/v1", "name a document that is one")
	}
	if err := k8s.CheckNames(root.Get("metadata")); err != nil {
		return nil, err
	}
	o, strict, err := read(root)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Machines: effective.Machines{Doc: doc}, Root: root, Name: o.Metadata.Name, Namespace: o.Metadata.Namespace, strict: strict}
	if err := c.checkKind(o.Spec); err != nil {
		return nil, err
	}
	return c, cmp.Or(c.setVersion(o.Spec.KubernetesVersion, assumeVersion), c.setConfig(o.Spec.RKEConfig))
}

// RKEConfig returns spec.rkeConfig, which exists and is a mapping.
func (c *Cluster) RKEConfig() yamledit.Node { return c.Root.Get("spec", "rkeConfig") }

func (c *Cluster) checkKind(spec provv1.ClusterSpec) error {
	if c.Name == "local" && c.Namespace == "fleet-local" {
		return transform.NotMigratable(c.Root.Get("metadata", "name"), "this is the cluster that Rancher itself runs on", "migrate it with the tools of its distribution")
	}
	if strings.Contains(spec.KubernetesVersion, "+k3s") {
		return transform.NotMigratable(c.Root.Get("spec", "kubernetesVersion"), "this is a K3s cluster", "name an RKE2 cluster")
	}
	if spec.RKEConfig == nil {
		return transform.NotMigratable(c.Root.Get("spec"), "rkeConfig is absent: the cluster is imported or hosted, and Rancher does not configure its machines", "change it where it is configured")
	}
	return nil
}

func (c *Cluster) setVersion(stated, assumed string) (err error) {
	c.Version, err = k8s.Statement{
		At: c.Root.Get("spec", "kubernetesVersion"), Holder: c.Root.Get("spec"), Key: "kubernetesVersion",
		Stated: stated, Assumed: assumed,
		Format: "an RKE2", Example: "v1.26.15+rke2r1", Is: effective.IsRelease,
	}.Version()
	c.Release = effective.LookupRelease(c.Version)
	return err
}

func (c *Cluster) setConfig(config *provv1.RKEConfig) (err error) {
	at := c.RKEConfig()
	c.DataDir, c.pools = at.Get("dataDirectories", "k8sDistro"), config.MachinePools
	c.Files = fileEntries(config.MachineSelectorFiles, at.Get(filesKey))
	c.Layers, err = layers(at.Get("machineGlobalConfig"), config.MachineSelectorConfig, at.Get(selectorKey))
	return err
}

// classes returns the machine classes of a document: its pools, or all that
// selectors distinguish. Where those are too many, the labels of the machines are those that there are.
func (c *Cluster) classes(machines *transform.Machines) ([]effective.Class, error) {
	if len(c.pools) > 0 {
		return poolClasses(c.Name, c.pools, c.RKEConfig().Get("machinePools"))
	}
	sets, ok := c.LabelSets(machines)
	if !ok {
		return nil, c.RKEConfig().Get(selectorKey).Errorf("its selectors match so many labels that the machine classes cannot be determined", "let the selectors match roles, or fewer labels; or name the live cluster, with --context and --cluster")
	}
	return c.Registered(sets), nil
}

// poolClasses returns one class per machine pool, empty pools included: they may
// grow.
func poolClasses(cluster string, pools []provv1.RKEMachinePool, at yamledit.Node) ([]effective.Class, error) {
	nodes, seen := at.Items(), map[string]bool{}
	var classes []effective.Class
	for i, p := range pools {
		switch node := nodes[i]; {
		case p.Name == "":
			return nil, node.Errorf("the machine pool has no name, and Rancher refuses the whole cluster", "name it")
		case seen[p.Name]:
			return nil, node.Get("name").Errorf("another machine pool has the same name, and Rancher refuses the whole cluster", "rename one of the two")
		default:
			seen[p.Name] = true
			classes = append(classes, effective.Class{Name: p.Name, Labels: effective.PoolLabels(cluster, p), Pool: node})
		}
	}
	return classes, nil
}

// object is as much of a cluster as its configuration depends on.
type object struct {
	Metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec provv1.ClusterSpec `json:"spec"`
}

// read decodes the document as Rancher's API does: unknown fields are left out,
// and a value of another type fails the whole cluster.
func read(root yamledit.Node) (o object, _ k8s.Strictness, _ error) {
	whole, strict := k8s.DecodeStrict[provv1.Cluster](root, "a Cluster of provisioning.cattle.io/v1")
	if strict.Fits() {
		o.Metadata.Name, o.Metadata.Namespace, o.Spec = whole.Name, whole.Namespace, whole.Spec
		return o, strict, nil
	}
	o, at, what := k8s.Decode[object](root)
	if what == "" {
		return o, strict, nil // what fails is no part of the configuration
	}
	what += ", and Rancher refuses the whole cluster"
	if inSelector(at) {
		return o, strict, transform.Refuse(ruleSelectorInvalid, at, what, `write labels and values as strings, as in "true"`)
	}
	return o, strict, at.Errorf(what, "correct it")
}

// inSelector reports whether a node belongs to a machine selector.
func inSelector(n yamledit.Node) bool {
	for ; n.Exists(); n = n.Parent() {
		if n.Key() == selectorField {
			return true
		}
	}
	return false
}
