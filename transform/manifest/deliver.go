// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"path"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/shell"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// deliver reports how a changed manifest reaches its cluster. The kubelet starts
// every file in its folder that has no dot in front, a half written one as well:
// so the new one is written under such a name and takes its place at once.
func deliver(doc *yamledit.Document, file string) transform.Delivery {
	switch kindOf(doc) {
	case kindConfiguration:
		return transform.Delivery{How: "the cluster with kubeadm:", Command: action.KubeadmUpload(file).Command}
	case kindInit, kindJoin:
		return transform.Delivery{How: "where\nkubeadm reads it on new nodes. It changes no running kubelet."}
	case kindPod:
		to := podFile(doc.File(), programs(podOf(doc.Root(), kindPod))[0].component)
		hidden := path.Join(path.Dir(to), "."+path.Base(to))
		return transform.Delivery{
			How:     "the control-plane nodes, one at a\ntime, with no copy of the old manifest in the kubelet's folder:",
			Command: shell.Line("install -m 0600 %s %s && mv %s %s", shell.Path(file), hidden, hidden, to),
		}
	}
	return transform.Delivery{How: "the cluster:", Command: shell.Line("kubectl apply -f %s", shell.Path(file)), Resource: transform.ResourceOf(doc)}
}

// podFile is where the manifest of a component lies on its node: where it was read,
// in the folder of kubeadm, or else under the name that kubeadm gives it.
func podFile(read, component string) string {
	const folder = "/etc/kubernetes/manifests"
	if path.Dir(read) == folder {
		return read
	}
	return path.Join(folder, component+".yaml")
}

// configurationFile is how a command names the ClusterConfiguration: the user's
// file, and for a stream the one that KubeadmSource fetches.
func configurationFile(read string) string {
	if read == yamledit.Stdin {
		return action.KubeadmFile
	}
	return read
}
