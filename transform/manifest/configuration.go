// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import "github.com/rke-lm/rke-lm/transform/args"

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

// readConfiguration reads the part for kube-controller-manager.
func (m *Manifest) readConfiguration() error {
	m.Component = kubeManager
	manager := m.Root.Get("controllerManager")
	if err := manager.Shared(); err != nil {
		return err
	}
	if err := m.checkTypes(); err != nil {
		return err
	}
	var err error
	m.arguments, err = args.ReadExtra(manager.Get("extraArgs"))
	return err
}
