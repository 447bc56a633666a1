// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"encoding/json"
	"errors"
	"reflect"

	provv1 "github.com/rancher/rancher/pkg/apis/provisioning.cattle.io/v1"
	"golang.org/x/mod/semver"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Cluster is an RKE2 cluster, read off a document.
type Cluster struct {
	Doc             *yamledit.Document
	Root            yamledit.Node
	Name, Namespace string
	Version         string // of the document, or else the assumed one
	Release         Release
	Classes         []Class // at least one
	Layers          []Layer // in the order of the merge; the first is the global one
	Files           []FileEntry

	dataDir string
}

// IsCluster reports whether a document is a cluster of Rancher's provisioning
// API, whatever its distribution.
func IsCluster(doc *yamledit.Document) bool {
	version, _ := doc.Root().Get("apiVersion").String()
	kind, _ := doc.Root().Get("kind").String()
	return version == "provisioning.cattle.io/v1" && kind == "Cluster"
}

// Open reads a cluster. It fails with a *transform.Refused for what is none of
// RKE2, and with a *yamledit.Error for what Rancher would refuse or what cannot
// be read off the document with certainty. assumeVersion stands in for a version
// that the document does not state.
func Open(doc *yamledit.Document, assumeVersion string) (*Cluster, error) {
	root := doc.Root()
	if !IsCluster(doc) {
		return nil, root.Errorf("not a Cluster of provisioning.cattle.io/v1", "name a document that is one")
	}
	if err := writtenOut(root); err != nil {
		return nil, err
	}
	o, err := read(root)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Doc: doc, Root: root, Name: o.Metadata.Name, Namespace: o.Metadata.Namespace}
	if err := c.checkKind(o.Spec); err != nil {
		return nil, err
	}
	if err := c.setVersion(o.Spec.KubernetesVersion, assumeVersion); err != nil {
		return nil, err
	}
	return c, c.setConfig(o.Spec.RKEConfig)
}

// RKEConfig returns spec.rkeConfig, which exists and is a mapping.
func (c *Cluster) RKEConfig() yamledit.Node { return c.Root.Get("spec", "rkeConfig") }

func (c *Cluster) checkKind(spec provv1.ClusterSpec) error {
	if c.Name == "local" && c.Namespace == "fleet-local" {
		return transform.NotMigratable(c.Root.Get("metadata", "name"), "this is the cluster that Rancher itself runs on", "migrate it with the tools of its distribution")
	}
	if isK3s(spec.KubernetesVersion) {
		return transform.NotMigratable(c.Root.Get("spec", "kubernetesVersion"), "this is a K3s cluster", "name an RKE2 cluster")
	}
	if spec.RKEConfig == nil {
		return transform.NotMigratable(c.Root.Get("spec"), "rkeConfig is absent: the cluster is imported or hosted, and Rancher does not configure its machines", "change it where it is configured")
	}
	return nil
}

func (c *Cluster) setVersion(stated, assumed string) error {
	at := c.Root.Get("spec", "kubernetesVersion")
	switch {
	case isRelease(stated):
		c.Version = stated
	case assumed == "" && stated == "":
		return c.Root.Get("spec").Errorf("kubernetesVersion is absent", "write it, or name it with --assume-version")
	case assumed == "":
		return at.Errorf("not an RKE2 release such as v1.26.15+rke2r1", "correct it, or name the release with --assume-version")
	case isRelease(assumed):
		c.Version, at = assumed, c.Root
	default:
		return c.Root.Errorf("the assumed version is not an RKE2 release", "give --assume-version a release such as v1.26.15+rke2r1")
	}
	if semver.Compare(semver.MajorMinor(c.Version), "v1.22") < 0 {
		return transform.NotMigratable(at, "leader migration needs Kubernetes 1.22", "upgrade the cluster first")
	}
	c.Release = LookupRelease(c.Version)
	return nil
}

func (c *Cluster) setConfig(config *provv1.RKEConfig) error {
	at := c.RKEConfig()
	c.dataDir = config.DataDirectories.K8sDistro
	selected, err := selectorLayers(config.MachineSelectorConfig, at.Get("machineSelectorConfig"))
	if err != nil {
		return err
	}
	c.Layers = append([]Layer{globalLayer(at.Get("machineGlobalConfig"))}, selected...)
	c.Files = fileEntries(config.MachineSelectorFiles, at.Get(filesKey))
	if len(config.MachinePools) == 0 {
		c.Classes = customClasses()
		return nil
	}
	c.Classes, err = poolClasses(c.Name, config.MachinePools, at.Get("machinePools"))
	return err
}

// writtenOut makes sure that the nodes show all the configuration: no alias or
// merge key brings in more.
func writtenOut(root yamledit.Node) error {
	config := root.Get("spec", "rkeConfig")
	for _, n := range []yamledit.Node{root, root.Get("metadata"), root.Get("spec"), config} {
		if !n.IsMap() {
			if err := n.Shared(); err != nil {
				return err
			}
		}
		if err := n.Get("<<").Shared(); err != nil {
			return err
		}
	}
	for _, part := range []string{"machineGlobalConfig", "machineSelectorConfig", filesKey, "machinePools", "dataDirectories"} {
		if err := config.Get(part).Shared(); err != nil {
			return err
		}
	}
	return nil
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
func read(root yamledit.Node) (object, error) {
	o, err := decode(root.Value())
	if err == nil {
		return o, nil
	}
	at, err := blame(root, err, func(v any) any { return v })
	what := expected(err) + ", and Rancher refuses the whole cluster"
	if inSelector(at) {
		return o, transform.Refuse(ruleSelectorInvalid, at, what, `write labels and values as strings, as in "true"`)
	}
	return o, at.Errorf(what, "correct it")
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

func decode(v any) (o object, err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = kjson.Unmarshal(text, &o)
	}
	return o, err
}

// blame finds the innermost node that fails to decode when nothing but the way
// to it is left of the document. whole puts that way around a value of n.
func blame(n yamledit.Node, err error, whole func(any) any) (yamledit.Node, error) {
	inside, hollow := members(n)
	if len(inside) == 0 {
		return n, err
	}
	if _, err := decode(whole(hollow)); err != nil {
		return n, err // a collection of this kind is already wrong
	}
	for _, m := range inside {
		wholeWith := func(v any) any { return whole(alone(m, v)) }
		if _, err := decode(wholeWith(m.Value())); err != nil {
			return blame(m, err, wholeWith)
		}
	}
	return n, err
}

// members returns what a collection holds, and a collection like it without.
func members(n yamledit.Node) (nodes []yamledit.Node, hollow any) {
	if !n.IsMap() {
		return n.Items(), []any{}
	}
	for _, e := range n.Entries() {
		nodes = append(nodes, e.Value)
	}
	return nodes, map[string]any{}
}

// alone returns the collection around n with v as its only member.
func alone(n yamledit.Node, v any) any {
	if n.Parent().IsMap() {
		return map[string]any{n.Key(): v}
	}
	return []any{v}
}

// expected says what should stand where decoding failed. The error's own text
// would quote what does stand there.
func expected(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return "the value cannot be read"
	}
	switch wrong.Type.Kind() {
	case reflect.String:
		return "this must be a string"
	case reflect.Bool:
		return "this must be true or false"
	case reflect.Slice:
		return "this must be a list"
	case reflect.Map, reflect.Struct:
		return "this must be a mapping"
	}
	return "this must be a whole number in range"
}
