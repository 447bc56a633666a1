// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The managers.
const (
	kubeManager  = leadermigration.Manager
	cloudManager = leadermigration.CloudManager
	anyManager   = "controller-manager" // a part of all names
)

// The kinds of documents that configure one.
const (
	kindPod           = "Pod"
	kindDeployment    = "Deployment"
	kindDaemonSet     = "DaemonSet"
	kindConfiguration = "ClusterConfiguration"
	kindInit          = "InitConfiguration"
	kindJoin          = "JoinConfiguration"
)

// groups gives the API group of each kind.
var groups = map[string]string{
	kindPod: "v1", kindDeployment: "apps/", kindDaemonSet: "apps/",
	kindConfiguration: "kubeadm.k8s.io/", kindInit: "kubeadm.k8s.io/", kindJoin: "kubeadm.k8s.io/",
}

// ofKubeadm has the components that kubeadm configures by its kinds, which are no objects of Kubernetes.
var ofKubeadm = map[string]string{kindConfiguration: kubeManager, kindInit: kubelet, kindJoin: kubelet}

// Outside of comments, a manifest that cannot be read names its kind, and that of a workload
// also the manager: many other texts name either.
var (
	configurationForm = regexp.MustCompile(`(?m)^[^#\n]*kind["']?\s*:\s*["']?(Cluster|Init|Join)Configuration\b`)
	workloadForm      = regexp.MustCompile(`(?m)^[^#\n]*kind["']?\s*:\s*["']?(Pod|Deployment|DaemonSet)\b`)
	managerForm       = regexp.MustCompile(`(?m)^[^#\n]*` + anyManager + `\b`)
)

// plausible is for a text with the words of a manifest that cannot be read.
func plausible(text []byte) bool {
	return configurationForm.Match(text) || workloadForm.Match(text) && managerForm.Match(text)
}

// program is a manager in a container.
type program struct {
	container yamledit.Node
	component string
	items     int  // of the command, or of args without one, that are the program
	shell     bool // a shell runs it, and its arguments are one string
}

// kindOf returns the kind of a document that may configure a manager, or "".
func kindOf(doc *yamledit.Document) string {
	kind, version := doc.Root().StringAt("kind"), doc.Root().StringAt("apiVersion")
	group, known := groups[kind]
	if !known || group != version && !(strings.HasSuffix(group, "/") && strings.HasPrefix(version, group)) {
		return ""
	}
	return kind
}

// IsManifest reports whether a document configures a controller manager, or gives
// the kubelets of new nodes a cloud provider.
func IsManifest(doc *yamledit.Document) bool {
	kind := kindOf(doc)
	return kind == kindConfiguration || registers(kind) && namesProvider(doc.Root()) || kind != "" && len(programs(podOf(doc.Root(), kind))) > 0
}

// podOf returns the spec of the pods that an object makes.
func podOf(root yamledit.Node, kind string) yamledit.Node {
	if kind == kindPod {
		return root.Get("spec")
	}
	return root.Get("spec", "template", "spec")
}

// programs returns the managers in the containers of a pod.
func programs(pod yamledit.Node) []program {
	return lists.Found(pod.Get("containers").Items(), programIn)
}

// programIn finds the manager that a container runs: by its command, or else by
// the name of its image.
func programIn(container yamledit.Node) (program, bool) {
	words := container.Get("command").Items()
	words = append(words, container.Get("args").Items()...)
	for i, w := range words {
		word, _ := w.String()
		switch name := path.Base(word); {
		case component(name) != "":
			return program{container: container, component: component(name), items: i + 1}, true
		case name == anyManager && i > 0: // after hyperkube
			return program{container: container, component: kubeManager, items: i + 1}, true
		case slices.Contains(shells, name):
			return inShell(container, words[i+1:])
		case !slices.Contains(wrappers, name) && !strings.HasPrefix(word, "-"):
			return program{}, false
		}
		if first := words[0].StringAt(); strings.HasPrefix(first, "-") {
			break // arguments alone: the image says what takes them
		}
	}
	name := component(k8s.ParseImage(container.StringAt("image")).Base())
	return program{container: container, component: name}, name != ""
}

var (
	shells   = []string{"sh", "bash", "ash", "dash"}
	wrappers = []string{"go-runner", "hyperkube", "tini", "dumb-init"}
)

// inShell finds the manager in the one string that a shell gets.
func inShell(container yamledit.Node, words []yamledit.Node) (program, bool) {
	for _, w := range words {
		for _, word := range strings.Fields(w.StringAt()) {
			if name := component(path.Base(strings.Trim(word, `"';&|()`))); name != "" {
				return program{container: container, component: name, shell: true}, true
			}
		}
	}
	return program{}, false
}

// component returns the manager of a program's or an image's name, or "".
func component(name string) string {
	for _, arch := range []string{"-amd64", "-arm64"} {
		name = strings.TrimSuffix(name, arch)
	}
	switch name {
	case kubeManager:
		return kubeManager
	case cloudManager, aws.Manager:
		return cloudManager
	}
	return ""
}
