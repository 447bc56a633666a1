// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"github.com/rke-lm/rke-lm/transform"
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
		const folder = "/etc/kubernetes/manifests/"
		name := programs(podOf(doc.Root(), kindPod))[0].component + ".yaml"
		return transform.Delivery{
			How:     "one control-plane node after the\nother, with no copy of the old one in the kubelet's folder:",
			Command: "install -m 0600 " + file + " " + folder + "." + name + " && mv " + folder + "." + name + " " + folder + name,
		}
	}
	return transform.Delivery{How: "the cluster:", Command: "kubectl apply -f " + file}
}
