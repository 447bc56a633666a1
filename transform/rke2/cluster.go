// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	provv1 "github.com/rancher/rancher/pkg/apis/provisioning.cattle.io/v1"
	rkev1 "github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1"
	"github.com/rancher/wrangler/v3/pkg/data/convert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/stages"
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

// Open reads a cluster, with the machines of a live one, once for each document. It fails with a *transform.Refused for what
// is none of RKE2, and with a *yamledit.Error for what Rancher would refuse or what cannot
// be read off the document with certainty.
func Open(doc *yamledit.Document, t transform.Target) (*Cluster, error) {
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

// check compares every machine class before and after a stage, which promises what may change, and the fields that
// Rancher does not know.
func (m *migration) check(after *migration, ok func(class effective.Class, key string, before, after any) bool) error {
	return cmp.Or(m.Check(&after.Machines, ok), m.strict.Allows(after.strict))
}

// settled waits until all machines have taken the document over.
func (m *migration) settled() action.Action { return action.ClusterSettled(m.Namespace, m.Name) }

// controlPlaneNodeLabel selects RKE2's control-plane nodes.
const controlPlaneNodeLabel = "node-role.kubernetes.io/control-plane=true"

// cordon is the policy for the cluster. The stage comes after the chart: a
// cordoned control plane holds back RKE2's Helm install Job, and no DaemonSet pod.
func (m *migration) cordon() stages.Cordoning {
	return stages.Cordoning{
		Target:   m.Target,
		Workers:  slices.ContainsFunc(m.Classes, func(c effective.Class) bool { return c.ControlPlane() && c.Worker() }),
		Selector: controlPlaneNodeLabel, Cluster: m.Name,
		Why: "Part of the published procedure: no new workload starts on a control plane while it switches. The lease guarantees one leader, not the cordon. Cordon after the installation of the chart, whose Job cannot run on cordoned control planes.",
	}
}

// psactSecret ends the name of the Secret from which Rancher's webhook lets machines
// get the configuration of pod security admission.
const psactSecret = "-admission-configuration-psact"

// kept returns an object with its specification as it is after Rancher's Go types,
// through which its controllers and its webhook write it. They know no difference
// between null, absent and empty, but in what machines are configured with and charts
// get, which they keep as it is. Where the cluster has a template for pod security admission, the
// webhook also writes kube-apiserver-arg of machineGlobalConfig, up to Rancher 2.11 in any
// order (ranchers.Release.OrderKept), and moves its own entry of machineSelectorFiles to
// the end.
func kept(object map[string]any) map[string]any {
	var spec provv1.ClusterSpec
	if convert.ToObj(object["spec"], &spec) != nil || spec.RKEConfig == nil {
		return object // Rancher refuses it, or does not provision it
	}
	c := spec.RKEConfig
	for i := range c.MachineSelectorConfig {
		withoutEmpty(&c.MachineSelectorConfig[i].Config)
	}
	withoutEmpty(&c.MachineGlobalConfig)
	withoutEmpty(&c.ChartValues)
	if spec.DefaultPodSecurityAdmissionConfigurationTemplateName != "" {
		if list, is := c.MachineGlobalConfig.Data[apiServerArgs].([]any); is {
			c.MachineGlobalConfig.Data[apiServerArgs] = append([]string{}, args.Texts(args.ForAPIServer(args.Of(list)))...) // an empty list stays one
		}
		c.MachineSelectorFiles = psactLast(c.MachineSelectorFiles)
	}
	var typed map[string]any
	if convert.ToObj(spec, &typed) != nil {
		return object
	}
	out := maps.Clone(object)
	out["spec"] = typed
	return out
}

// withoutEmpty makes a mapping without keys none.
func withoutEmpty(m *rkev1.GenericMap) {
	if len(m.Data) == 0 {
		m.Data = nil
	}
}

// psactLast returns files with the webhook's own after the others.
func psactLast(files []rkev1.RKEProvisioningFiles) []rkev1.RKEProvisioningFiles {
	own := func(f rkev1.RKEProvisioningFiles) bool {
		return len(f.FileSources) == 1 && strings.HasSuffix(f.FileSources[0].Secret.Name, psactSecret)
	}
	others := slices.DeleteFunc(slices.Clone(files), own)
	return append(others, slices.DeleteFunc(files, func(f rkev1.RKEProvisioningFiles) bool { return !own(f) })...)
}

const filesKey = "machineSelectorFiles"

// fileEntries returns the entries; one with an invalid selector matches nothing.
func fileEntries(entries []rkev1.RKEProvisioningFiles, at yamledit.Node) []effective.File {
	nodes := at.Items()
	var found []effective.File
	for i, entry := range entries {
		f := effective.File{Entry: nodes[i], Sources: sourcesOf(nodes[i])}
		if f.Selector, f.Invalid = selector(entry.MachineLabelSelector); f.Invalid != nil {
			f.Selector = labels.Nothing()
		}
		found = append(found, f)
	}
	return found
}

// sourcesOf returns the objects that the fileSources of an entry name. The document may be malformed.
func sourcesOf(entry yamledit.Node) (named []effective.FileSource) {
	item := func(n yamledit.Node) rkev1.KeyToPath {
		return rkev1.KeyToPath{Key: n.StringAt("key"), Path: n.StringAt("path"), Hash: n.StringAt("hash")}
	}
	for _, source := range entry.Get("fileSources").Items() {
		for _, form := range [][2]string{{kindSecret, "secret"}, {kindConfigMap, "configMap"}} {
			at := source.Get(form[1])
			if name := at.StringAt("name"); name != "" {
				named = append(named, effective.FileSource{At: at, Object: effective.Object{Kind: form[0], Name: name}, Items: lists.Map(at.Get("items").Items(), item)})
			}
		}
	}
	return named
}

// layers returns machineGlobalConfig, and a layer for every entry of machineSelectorConfig.
func layers(global yamledit.Node, entries []rkev1.RKESystemConfig, at yamledit.Node) ([]effective.Layer, error) {
	nodes := at.Items()
	layers := []effective.Layer{{Config: global, Selector: labels.Everything()}}
	for i, entry := range entries {
		if !nodes[i].IsMap() {
			return nil, nodes[i].Errorf("the entry is empty", "remove it, or give it a config")
		}
		matches, err := selector(entry.MachineLabelSelector)
		if err != nil {
			return nil, transform.Refuse(ruleSelectorInvalid, invalidPart(nodes[i].Get(selectorField), *entry.MachineLabelSelector),
				"the selector is invalid, and Rancher refuses the whole cluster",
				"use In and NotIn with values, Exists and DoesNotExist without, and well-formed labels")
		}
		layers = append(layers, effective.Layer{Config: nodes[i].Get("config"), Entry: nodes[i], Selector: matches, Index: i + 1})
	}
	return layers, nil
}

// selector reads an absent selector as Rancher does: it matches all machines,
// where Kubernetes would match none.
func selector(s *metav1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(s)
}

// invalidPart returns the part of an invalid selector that is the cause. A key that
// is no label is not named: it could be anything.
func invalidPart(at yamledit.Node, s metav1.LabelSelector) yamledit.Node {
	invalid := func(s metav1.LabelSelector) bool { _, err := selector(&s); return err != nil }
	for i, part := range s.MatchExpressions {
		if invalid(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{part}}) {
			return at.Get(expressionsField).Items()[i]
		}
	}
	for _, e := range at.Get(labelsField).Entries() {
		if invalid(metav1.LabelSelector{MatchLabels: map[string]string{e.Key: ""}}) {
			return e.Value.Parent()
		}
		if invalid(metav1.LabelSelector{MatchLabels: map[string]string{e.Key: e.Value.StringAt()}}) {
			return e.Value
		}
	}
	return at
}
