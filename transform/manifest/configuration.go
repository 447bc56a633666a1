// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"github.com/rke-lm/rke-lm/transform/args"
)

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
