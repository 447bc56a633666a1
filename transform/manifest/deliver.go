// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"path"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/shell"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// deliver says how a changed manifest reaches its cluster. The kubelet starts
// every file in its folder that has no dot in front, a half written one as well:
// so the new one is written under such a name and takes its place at once.
func deliver(doc *yamledit.Document, file string) transform.Delivery {
	switch kindOf(doc) {
	case kindConfiguration:
		return transform.Delivery{How: "the cluster through kubeadm:", Command: transform.KubeadmUpload{File: file}.Command()}
	case kindPod:
		to := podFile(programs(podOf(doc.Root(), kindPod))[0].component)
		hidden := path.Join(path.Dir(to), "."+path.Base(to))
		return transform.Delivery{
			How:     "one control-plane node after the\nother, with no copy of the old one in the kubelet's folder:",
			Command: shell.Line("install -m 0600 %s %s && mv %s %s", shell.Path(file), hidden, hidden, to),
		}
	}
	return transform.Delivery{How: "the cluster:", Command: shell.Line("kubectl apply -f %s", shell.Path(file))}
}

// podFile is where kubeadm puts the manifest of a component.
func podFile(component string) string { return "/etc/kubernetes/manifests/" + component + ".yaml" }
