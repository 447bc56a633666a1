// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package manifest plans the leader migration of controller managers that run
// from manifests of their own: static pods of kubeadm, Deployments, DaemonSets,
// the ClusterConfiguration from which kubeadm writes static pods, and the
// InitConfiguration and JoinConfiguration with the kubelet's arguments.
//
// Invariant: one document is one component, and what an edit means is decided by
// its arguments as the manager reads them, by the last occurrence of a flag and
// however it is written. A stage that concerns another document says where it
// happens and edits nothing. What comes next to a manifest never lands in the
// folder of the manifest, because the kubelet starts every file in there.
package manifest

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// arguments are those of a manager, as a manifest writes them.
type arguments interface {
	List() []args.Arg
	Apply(*yamledit.Edit, args.Update)
}

// Manifest is a manager, read off a document.
type Manifest struct {
	Doc             *yamledit.Document
	Root            yamledit.Node
	Name, Namespace string
	Kind            string
	Component       string // kubeManager, cloudManager or kubelet
	Version         string // such as v1.26.15; of the document, or else the assumed one; "" where a kubelet's is not known

	pod       yamledit.Node // spec of the pods; not there for what kubeadm reads
	program   program       // likewise
	arguments arguments
	apiServer args.Extra // of kube-apiserver, in a ClusterConfiguration
	strict    k8s.Strictness
}

// Open reads a manifest. It fails with a *transform.Refused for a release that
// has no leader migration, and with a *yamledit.Error for what the API server
// would refuse or what cannot be read off the document with certainty.
// assumeVersion replaces a version that the document does not state.
func Open(doc *yamledit.Document, assumeVersion string) (*Manifest, error) {
	if err := checkIs(doc); err != nil {
		return nil, err
	}
	m := &Manifest{Doc: doc, Root: doc.Root(), Kind: kindOf(doc)}
	m.setName()
	if err := cmp.Or(m.checkName(), k8s.CheckNames(m.Root.Get("metadata")), m.readComponent(), m.checkTypes()); err != nil {
		return nil, err
	}
	return m, cmp.Or(m.readArguments(), m.setVersion(assumeVersion))
}

// checkIs refuses what is no manifest, which --distro makes one.
func checkIs(doc *yamledit.Document) error {
	if IsManifest(doc) {
		return nil
	}
	return doc.Root().Errorf("no manifest of a controller manager", "name a Pod, Deployment or DaemonSet that runs one, or a ClusterConfiguration of kubeadm")
}

// setName reads the object's name; a ClusterConfiguration has that of its cluster,
// and what registers a node that of the node.
func (m *Manifest) setName() {
	m.Namespace, m.Name = m.Root.StringAt("metadata", "namespace"), m.Root.StringAt("metadata", "name")
	if m.Kind == kindConfiguration && m.Name == "" {
		m.Name = m.Root.StringAt("clusterName")
	}
	if registers(m.Kind) && m.Name == "" {
		m.Name = m.Root.StringAt("nodeRegistration", "name")
	}
}

// checkName requires what every object of Kubernetes has; kubeadm's configurations
// are none.
func (m *Manifest) checkName() error {
	at := m.Root.Get("metadata")
	switch {
	case ofKubeadm[m.Kind] != "":
		return nil
	case !at.IsMap():
		return yamledit.First(at, m.Root).Errorf("a "+m.Kind+" without metadata, which Kubernetes refuses", "write metadata with a name and a namespace")
	case m.Name == "":
		return yamledit.First(at.Get("name"), at).Errorf("a "+m.Kind+" without a name, which Kubernetes refuses", "write metadata.name")
	}
	return nil
}

// readComponent finds what the document is for: a manager in its pods, or what kubeadm configures.
func (m *Manifest) readComponent() error {
	if m.Component = ofKubeadm[m.Kind]; m.Component != "" {
		return nil
	}
	m.pod = podOf(m.Root, m.Kind)
	all := programs(m.pod)
	m.program = all[0]
	m.Component = m.program.component
	switch {
	case len(all) > 1:
		return all[1].container.Errorf("a second controller manager in one manifest", "write one manifest for each manager")
	case m.program.shell:
		return m.program.container.Get("command").Errorf("a shell runs the manager, with its arguments in one string", "write the program and its arguments as items of command, without the shell; the kubelet keeps the output, so remove redirections")
	}
	return nil
}

// readArguments reads those of the component.
func (m *Manifest) readArguments() (err error) {
	switch {
	case m.Kind == kindConfiguration:
		if m.arguments, err = args.ReadExtra(m.Root.Get("controllerManager", "extraArgs")); err == nil {
			m.apiServer, err = args.ReadExtra(m.Root.Get("apiServer", "extraArgs"))
		}
	case registers(m.Kind):
		m.arguments, err = args.ReadExtra(kubeletArgs(m.Root))
	default:
		m.arguments, err = args.ReadContainer(m.program.container, m.program.items)
	}
	return err
}

// checkTypes decodes the document as the API server does.
func (m *Manifest) checkTypes() error {
	var at yamledit.Node
	var wrong string
	if m.strict, at, wrong = shapes[m.Kind](m.Root, "a "+m.Kind+" of "+m.Root.StringAt("apiVersion")); wrong != "" {
		return at.Errorf(wrong+", and Kubernetes refuses the whole manifest", "correct it")
	}
	return nil
}

// versionAt returns where the version is, and how it is written. What registers
// a node states none.
func (m *Manifest) versionAt() (at yamledit.Node, stated string) {
	switch {
	case m.Kind == kindConfiguration:
		at = m.Root.Get("kubernetesVersion")
		return at, at.StringAt()
	case registers(m.Kind):
		return yamledit.Node{}, ""
	}
	at = m.program.container.Get("image")
	return at, k8s.ParseImage(at.StringAt()).Tag
}

func (m *Manifest) setVersion(assumed string) error {
	at, stated := m.versionAt()
	at, m.Version = yamledit.First(at, m.Root), releaseOf(stated)
	if m.Version == "" && assumed != "" {
		if m.Version = releaseOf(assumed); m.Version == "" {
			return m.Root.Errorf("the assumed version is not a release of Kubernetes", "give --assume-version a release such as v1.26.15")
		}
	}
	switch {
	case m.Version == "" && registers(m.Kind):
		return nil
	case m.Version == "":
		return at.Errorf("the tag is not a release such as v1.26.15", "set it, or use --assume-version")
	case !k8s.From(m.Version, k8s.FirstMigrates):
		return transform.NotMigratable(at, "leader migration requires Kubernetes 1.22 or later", "upgrade the cluster first")
	}
	return nil
}

// flag returns the occurrence of a flag that counts.
func (m *Manifest) flag(name string) (args.Arg, bool) { return args.Last(m.arguments.List(), name) }

// on reports whether a boolean flag is on.
func (m *Manifest) on(name string) bool { return args.Enables(m.arguments.List(), name) }

// provider returns the cloud provider among the arguments, and where it is.
func (m *Manifest) provider() (name string, at yamledit.Node) {
	a, found := m.flag(providerFlag)
	if !found {
		return "", m.argumentsAt()
	}
	return a.Value, a.Node()
}

// argumentsAt returns the place to name where an argument is missing.
func (m *Manifest) argumentsAt() yamledit.Node {
	c := m.program.container
	return yamledit.First(c.Get("args"), c.Get("command"), m.Root.Get("controllerManager"), m.Root.Get("nodeRegistration"), c, m.Root)
}

// clusterConfiguration is as much of kubeadm's type as is read
// (k8s.io/kubernetes cmd/kubeadm/app/apis/kubeadm, v1beta3 and v1beta4).
type clusterConfiguration struct {
	ClusterName       string `json:"clusterName"`
	KubernetesVersion string `json:"kubernetesVersion"`
	ControllerManager struct {
		ExtraVolumes []extraVolume `json:"extraVolumes"`
	} `json:"controllerManager"`
}

// extraVolume is a path of the host that kubeadm mounts into a static pod.
type extraVolume struct {
	Name      string `json:"name"`
	HostPath  string `json:"hostPath"`
	MountPath string `json:"mountPath"`
	ReadOnly  bool   `json:"readOnly"`
	PathType  string `json:"pathType"`
}

// serverProvider returns the provider of kube-apiserver in a ClusterConfiguration.
func (m *Manifest) serverProvider() (args.Arg, bool) {
	return args.Last(m.apiServer.List(), providerFlag)
}

// releaseForm is a Kubernetes release and what a distribution appends to it.
var releaseForm = regexp.MustCompile(`^(v[1-9]\d*\.\d+\.\d+)([-+_.].*)?$`)

// isRelease reports whether a version is a release of Kubernetes and no more.
func isRelease(version string) bool { return version != "" && releaseOf(version) == version }

// releaseOf returns the Kubernetes release that a tag or version starts with, or
// "".
func releaseOf(version string) string {
	if m := releaseForm.FindStringSubmatch(version); m != nil {
		return m[1]
	}
	return ""
}

// The parts that documents have in a cluster. One of each manager, and one
// configuration of kubeadm; kubelets may have any number.
const (
	partManager = iota // kube-controller-manager
	partKubeadm        // the configuration from which kubeadm writes it
	partCloud          // cloud-controller-manager
	partKubelet        // the arguments of kubelets of new nodes
)

var partNames = []string{partManager: kubeManager, partKubeadm: kindConfiguration, partCloud: cloudManager}

// part returns the part that a document has.
func part(doc *yamledit.Document) int {
	switch kind := kindOf(doc); {
	case kind == kindConfiguration:
		return partKubeadm
	case registers(kind):
		return partKubelet
	case programs(podOf(doc.Root(), kind))[0].component == cloudManager:
		return partCloud
	}
	return partManager
}

// group puts the manifests of one folder, or of one stream, in the order of their
// parts. Two clusters in one folder are refused: nothing tells which manager belongs to
// which.
func group(docs, _ []*yamledit.Document) ([][]*yamledit.Document, error) {
	if err := lists.Check(docs, checkIs); err != nil {
		return nil, err
	}
	docs = slices.Clone(docs)
	slices.SortStableFunc(docs, func(a, b *yamledit.Document) int { return cmp.Compare(part(a), part(b)) })
	for i, doc := range docs[1:] {
		if before := docs[i]; part(doc) == part(before) && part(doc) != partKubelet {
			return nil, twoClusters(doc, before, "a second "+partNames[part(doc)])
		}
	}
	return [][]*yamledit.Document{docs}, sameCluster(docs)
}

// sameCluster refuses documents that name different clusters. A manager without
// --cluster-name does not name one.
func sameCluster(docs []*yamledit.Document) error {
	named := lists.Where(docs, func(doc *yamledit.Document) bool { return clusterName(doc) != "" })
	for _, doc := range named {
		if name, first := clusterName(doc), clusterName(named[0]); name != first {
			return twoClusters(doc, named[0], fmt.Sprintf("the name of another cluster (%s instead of %s)", name, first))
		}
	}
	return nil
}

// clusterName returns the name that a document has for its cluster, or "".
func clusterName(doc *yamledit.Document) string {
	m := &Manifest{Doc: doc, Root: doc.Root(), Kind: kindOf(doc)}
	switch {
	case m.Kind == kindConfiguration:
		return m.Root.StringAt("clusterName")
	case registers(m.Kind):
		return ""
	}
	p := programs(podOf(m.Root, m.Kind))[0]
	list, err := args.ReadContainer(p.container, p.items)
	if err != nil {
		return "" // refused when the manifest is opened
	}
	return args.Value(list.List(), "cluster-name")
}

// twoClusters names both places.
func twoClusters(doc, other *yamledit.Document, what string) error {
	at := other.Root()
	return transform.NotMigratable(doc.Root(),
		fmt.Sprintf("%s: %s:%d has one as well, so the manifests of two clusters are in one folder or stream", what, other.File(), at.Line()),
		"put the manifests of each cluster into a folder of their own, and copies elsewhere")
}
