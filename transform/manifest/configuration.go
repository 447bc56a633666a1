// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/yamledit"
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

// readConfiguration reads the part for kube-controller-manager.
func (m *Manifest) readConfiguration() error {
	m.Component = kubeManager
	manager, server := m.Root.Get("controllerManager"), m.Root.Get("apiServer")
	if err := m.checkTypes(); err != nil {
		return err
	}
	var err error
	if m.arguments, err = args.ReadExtra(manager.Get("extraArgs")); err != nil {
		return err
	}
	m.apiServer, err = args.ReadExtra(server.Get("extraArgs"))
	return err
}

// serverProvider returns the provider of kube-apiserver in a ClusterConfiguration.
func (m *Manifest) serverProvider() (args.Arg, bool) {
	return args.Last(m.apiServer.List(), providerFlag)
}

// moveServer changes the provider of kube-apiserver, which kubeadm would write
// again as it was: its static pod is changed by hand.
func (m *Manifest) moveServer(e *yamledit.Edit, from, to string) {
	if a, found := m.serverProvider(); found && a.Value == from {
		m.apiServer.Apply(e, args.Update{Set: []args.Arg{args.With(providerFlag, to)}})
	}
}
