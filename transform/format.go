// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package transform is the contract: what every format has in common, stages, findings and refusals, and the
// documents as kubectl reads them.
//
// Invariant: transform decides and does no I/O. A stage's progress is read off
// the document itself, so there is no state file and every command may be run
// again.
package transform

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Format is one way in which clusters are described, which users call --distro. All formats have this
// shape; learn one and you know all.
type Format struct {
	Name string
	// Document is how people call what describes a cluster: "a Cluster of …".
	Document string
	// Words are those of a document of the format, unless its text is disguised (see
	// yamledit.Disguised): all of one list. What has none is not parsed.
	Words Words
	// Plausible reports whether a text with these words that cannot be read was meant for a
	// document of the format; nil where no other file uses the words.
	Plausible func(text []byte) bool
	// Owns reports whether the document describes a cluster of this format.
	Owns func(*yamledit.Document) bool
	// Identify names the cluster of a document, migratable or not, without its
	// version.
	Identify func(*yamledit.Document) Identity
	// Open reads the documents of one cluster, of which the first names it. It fails
	// with *Refused for one that is not to be migrated, and with *yamledit.Error for
	// one that cannot be read safely.
	Open func([]*yamledit.Document, Target) (Cluster, error)
	// Lint reads a cluster for its findings alone, migratable or not. It may
	// return both a cluster and what of it cannot be read.
	Lint func([]*yamledit.Document, Target) (Cluster, error)
	// Explain returns the effective configuration of a cluster, migratable or
	// not; nil where all machines get what the file says.
	Explain func([]*yamledit.Document, Target) ([]MachineClass, error)
	// Keys are those that the configuration of a machine class may have in any release; nil where
	// it has none.
	Keys func() []string
	// Deliver says how a document of the format in a file reaches its cluster; the
	// file is its plain path, without quotes. See ThroughRancher.
	Deliver func(doc *yamledit.Document, file string) Delivery
	// IsObject reports whether a document is an object as Rancher's API has it, and no
	// file of people; nil where Rancher writes none.
	IsObject func(*yamledit.Document) bool
	// Kept returns what Rancher's types keep of an object, decoded from JSON, in one
	// form; nil for all of it.
	Kept func(object map[string]any) map[string]any
	// Grouping says which documents describe one cluster. See OneDocument.
	Grouping Grouping
	// Rules are the static rules.
	Rules []Rule
	// Live is for clusters that are read from an API server.
	Live Live
}

// Words are lists of words of which a text has all of one.
type Words [][]string

// In reports whether a text has all words of one list.
func (w Words) In(text []byte) bool {
	lacks := func(word string) bool { return !bytes.Contains(text, []byte(word)) }
	return slices.ContainsFunc(w, func(list []string) bool { return !slices.ContainsFunc(list, lacks) })
}

// Classes are what Explain returns, if the format has it.
func (d Format) Classes(docs []*yamledit.Document, t Target) ([]MachineClass, error) {
	if d.Explain == nil {
		return nil, nil
	}
	return d.Explain(docs, t)
}

// Meant reports whether a text that cannot be read was meant for a document of the format.
func (d Format) Meant(text []byte) bool {
	return d.Words.In(text) && (d.Plausible == nil || d.Plausible(text))
}

// Grouping says which documents of a folder, or of a stream, describe one cluster: only an
// explicit link makes them one.
type Grouping struct {
	// Several means that a cluster may have several documents of the format.
	Several bool
	// MayGroup reports whether a document of the format may have others in its cluster.
	MayGroup func(*yamledit.Document) bool
	// Group returns the documents of each cluster in one folder or stream, the one that
	// names the cluster first. related are the documents that Related recognizes. It fails with
	// *Refused where nothing shows which documents are of which cluster.
	Group func(docs, related []*yamledit.Document) ([][]*yamledit.Document, error)
	// Related recognizes a document that rules read and that no stage edits.
	Related Related
	// Configs recognizes the same of machine configurations, which rules read where machines
	// may be renamed.
	Configs Related
	// WithValues adds the values file of the chart, which the operator names, to the documents
	// of a cluster. It fails for a file that is none. See NoValues.
	WithValues func(docs []*yamledit.Document, values *yamledit.Document) ([]*yamledit.Document, error)
}

// Related recognizes documents by their words, as those of a format, and by their kind.
type Related struct {
	Words Words
	Kinds []string
}

// Has reports whether a document is one of them.
func (b Related) Has(doc *yamledit.Document) bool {
	return slices.Contains(b.Kinds, doc.Root().StringAt("kind")) && b.Words.In(doc.Root().JSON())
}

// Only returns the documents of a cluster that has one.
func Only(doc *yamledit.Document) []*yamledit.Document { return []*yamledit.Document{doc} }

// Delivery is how a changed document reaches its cluster.
type Delivery struct {
	How     string // begins after "bring the file to"
	Command string // in the shell; "" for none
	Rancher bool   // the document is an object on Rancher's own cluster
	// Resource is what kubectl calls the document's kind; "" where no API server has
	// the document as an object.
	Resource string
}

// ResourceOf returns what kubectl calls the kind of an object: deployments.apps.
func ResourceOf(doc *yamledit.Document) string {
	resource := strings.ToLower(doc.Root().StringAt("kind")) + "s"
	if group, _, grouped := strings.Cut(doc.Root().StringAt("apiVersion"), "/"); grouped {
		return resource + "." + group
	}
	return resource
}

// Cluster is a cluster that can be migrated, as its documents have it.
type Cluster interface {
	Identity() Identity
	// Chosen returns the operator's choice, in the situation of the cluster.
	Chosen() Target
	// Documents returns the documents that describe the cluster, the one that names it
	// first.
	Documents() []*yamledit.Document
	// Stages returns the stages in their order.
	Stages() []Listed
	// Findings returns what the rules that guard a stage say about the cluster;
	// with "" what all rules say.
	Findings(stage string) []Finding
	// Manager returns what in the documents runs the cloud-controller-manager; a node that does
	// not exist where nothing does.
	Manager() yamledit.Node
	// Restarts returns what restarts when the cluster becomes a successor of it.
	Restarts(after Cluster) []Restart
}

// Restart is a process that a stage restarts, in the order in which that happens.
type Restart struct {
	Process string   `json:"process"` // with what restarts inside of it
	Classes []string `json:"classes"` // of machines, or what people call them
	Order   string   `json:"order"`   // of the machines among each other
}

// Identity names a cluster.
type Identity struct {
	Format    string `json:"distro"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Version   string `json:"version"`
}

// Title is how people call the cluster.
func (i Identity) Title() string { return i.TitleIn("(no name)") }

// TitleIn is the same for the cluster of a file, after which one without a name is called.
func (i Identity) TitleIn(file string) string {
	switch {
	case i.Name == "":
		return file
	case i.Namespace == "":
		return i.Name
	}
	return i.Namespace + "/" + i.Name
}

// Is reports whether both name the same cluster, whatever its version.
func (i Identity) Is(o Identity) bool {
	return i.Format == o.Format && i.Namespace == o.Namespace && i.Name == o.Name
}

// MachineClass is the effective configuration of all machines with one set of
// labels.
type MachineClass struct {
	Name     string
	Labels   map[string]string
	Settings []Setting // by key
	Dropped  []Dropped // by key
}

// Setting is one argument that machines get.
type Setting struct {
	Key        string
	Value      any // string, bool or []any
	Origin     yamledit.Node
	Why        string          // which machines the origin is for
	Overridden []yamledit.Node // earlier values for the same machines
}

// Dropped is a value that was set and does not reach the machines.
type Dropped struct {
	Key    string
	Origin yamledit.Node
	Reason string
}

// Alike reports whether two objects of the format, as decoded JSON, are the same to
// Rancher. It reads them into its Go types and writes them back at any time, so what
// those types do not distinguish is no change: see Kept of each format. Manifests in a
// string are compared as [yamledit.Same] does.
func (d Format) Alike(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	return yamledit.Same(d.kept(a), d.kept(b))
}

// SameSpec reports whether two documents have specifications that are the same to
// Rancher.
func (d Format) SameSpec(a, b *yamledit.Document) bool {
	spec := func(doc *yamledit.Document) any { return map[string]any{"spec": doc.Root().Get("spec").Value()} }
	return d.Alike(spec(a), spec(b))
}

// kept is what Rancher keeps of a value. What is no object stays as it is.
func (d Format) kept(v any) any {
	object, isMap := v.(map[string]any)
	if !isMap || d.Kept == nil {
		return v
	}
	return d.Kept(object)
}

// Served reports whether an API server has printed a document.
func Served(doc *yamledit.Document) bool {
	return doc.Chunk().Served || doc.Root().StringAt("metadata", "uid") != ""
}

// What a Format does where it has nothing of its own.

// OneDocument is the Grouping of a format whose clusters have one document each, and a values file.
func OneDocument(withValues func(docs []*yamledit.Document, values *yamledit.Document) ([]*yamledit.Document, error)) Grouping {
	return Grouping{
		MayGroup: func(*yamledit.Document) bool { return false },
		Group: func(docs, _ []*yamledit.Document) ([][]*yamledit.Document, error) {
			return lists.Map(docs, Only), nil
		},
		WithValues: withValues,
	}
}

// NoValues is the WithValues of a format whose clusters have no values file of their own; its
// documents hold the chart otherwise.
func NoValues(otherwise string) func([]*yamledit.Document, *yamledit.Document) ([]*yamledit.Document, error) {
	return func(docs []*yamledit.Document, values *yamledit.Document) ([]*yamledit.Document, error) {
		return nil, docs[0].Root().Errorf("only a cluster of RKE takes the values file "+values.File(), "remove --ccm-values; "+otherwise)
	}
}

// ThroughRancher is the Deliver of a format whose documents are objects of Rancher.
func ThroughRancher(doc *yamledit.Document, file string) Delivery {
	return Delivery{
		How: "Rancher as\nusual: commit it, or, if kubectl get printed it, run on Rancher's own cluster (kubectl apply would keep\n" +
			"keys that were removed from the file):",
		Command:  action.Command("kubectl replace -f %s", action.Path(file)),
		Rancher:  true,
		Resource: ResourceOf(doc),
	}
}

// Live is what distinguishes the live clusters of a format from those of others.
type Live struct {
	// Kind is that of the objects by which Rancher describes the clusters; zero where it
	// describes none.
	Kind ObjectKind
	// Snapshot is how a snapshot of etcd is requested from Rancher; nil where Rancher
	// describes no clusters.
	Snapshot EtcdSnapshot
	// Machines reads what the machines of a cluster are given, migratable or not, off
	// the cluster's object; nil where Rancher gives no machine a plan of its own.
	Machines func(*yamledit.Document, Target) (MachineConfig, error)
	// ByMachines reports whether the object alone does not show the machine classes of its
	// cluster, so that Open needs Target.Machines; nil where it always does.
	ByMachines func(*yamledit.Document) bool
	// Roles are those of a machine with some labels; nil where Rancher shows no machines.
	Roles func(labels map[string]string) Roles
	// Restart returns the command that restarts the kubelet of a machine, on a server or on
	// an agent; see RestartKubelet.
	Restart func(server bool) string
	// Shows reports whether a cluster looks like one of the format, where no object
	// says it.
	Shows func(Traits) bool
}

// ObjectKind is a kind of objects by which a Rancher describes clusters; each is a
// Cluster.
type ObjectKind struct {
	Group, Version string
	Namespaced     bool // without, the name of an object is the ID of its cluster
	// Planned means that Rancher gives each machine a plan of its own, and shows machines
	// as objects of Cluster API. Without, RKE applies the object as a whole.
	Planned bool
}

// The kinds that there are: of provisioned clusters, and of those that RKE makes.
var (
	Provisioning = ObjectKind{Group: action.ProvisioningGroup, Version: "v1", Namespaced: true, Planned: true}
	Management   = ObjectKind{Group: action.ManagementGroup, Version: "v3"}
)

// APIVersion is that of the objects.
func (k ObjectKind) APIVersion() string { return k.Group + "/" + k.Version }

// EtcdSnapshot is a SnapshotByCluster or a SnapshotByObject.
type EtcdSnapshot interface{ snapshot() }

func (SnapshotByCluster) snapshot() {}
func (SnapshotByObject) snapshot()  {}

// SnapshotByCluster returns the cluster's object that asks for one more snapshot, and
// the number of it.
type SnapshotByCluster func(*yamledit.Document) (after *yamledit.Document, number int64, err error)

// SnapshotByObject is a snapshot that an object of its own asks for.
type SnapshotByObject struct {
	Kind string
	// Make returns the object as JSON, and Taken what it waits for: "" once the snapshot
	// is there. object is the cluster's, id and uid are those of the cluster.
	Make  func(object []byte, id, uid, name string) ([]byte, error)
	Taken func(object []byte) (waiting string, err error)
}

// MachineConfig returns the configuration that a machine with some labels is given, by
// key: strings, booleans and lists, as decoded JSON.
type MachineConfig func(labels map[string]string) map[string]any

// MachineConfig is what Machines returns; without it machines are given nothing by their labels.
func (l Live) MachineConfig(doc *yamledit.Document, t Target) (MachineConfig, error) {
	if l.Machines == nil {
		return func(map[string]string) map[string]any { return nil }, nil
	}
	return l.Machines(doc, t)
}

// RestartKubelet is the Restart of a format whose kubelet is a service of its own.
func RestartKubelet(bool) string { return "systemctl restart kubelet" }

// Roles are what a machine runs in addition to the kubelet.
type Roles struct{ ControlPlane, Etcd, Worker bool }

// Traits are what distinguishes the formats of clusters.
type Traits struct {
	Version string // of the API server
	// ManagerPods means that the kube-controller-managers are pods.
	ManagerPods bool
	NodeLabel   func(key string) bool // whether any Node has it
}
