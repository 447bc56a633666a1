// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/rancher/wrangler/v3/pkg/crd"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/lab/aws"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/deploy"
	"github.com/rke-lm/rke-lm/transform/args"
)

// Machine is one that RKE2 runs on.
type Machine struct {
	Name, Host                 string // the first is that by which its kubelet is known, the second its host name
	ControlPlane, Etcd, Worker bool
	Instance                   aws.Instance
}

// RKE2 does what RKE2 does with the configuration of a machine: its kubelet registers a node, manifests are
// applied and pruned, HelmCharts become Jobs, and kube-controller-manager runs as a static pod.
type RKE2 struct {
	cluster  *cluster.Cluster
	client   kubernetes.Interface
	objects  dynamic.Interface
	kubelets *Kubelets
	charts   *deploy.Charts
	applier  *deploy.Applier

	mu     sync.Mutex // machines may follow at once
	addons map[string]*deploy.Addons
}

// StartRKE2 starts what the machines of a cluster share, and their kubelets. Version is that of RKE2.
func StartRKE2(ctx context.Context, c *cluster.Cluster, k *Kubelets, h *deploy.Helm, version string) (*RKE2, error) {
	config := c.Config(cluster.Admin)
	kubeconfig, err := c.Kubeconfig(cluster.Admin)
	if err != nil {
		return nil, err
	}
	r := &RKE2{cluster: c, client: k.client, kubelets: k, addons: map[string]*deploy.Addons{}}
	if r.applier, err = deploy.NewApplier(config); err != nil {
		return nil, err
	}
	if r.objects, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	if err := deploy.Define(ctx, config, crd.CRD{GVK: snapshots.GroupVersion().WithKind(snapshotKind), NonNamespace: true}); err != nil {
		return nil, err
	}
	if r.charts, err = deploy.StartCharts(ctx, config); err != nil {
		return nil, err
	}
	k.Programs[deploy.Container] = h.Job(r.charts, kubeconfig)
	k.Image = "rancher/hardened-kubernetes:" + strings.ReplaceAll(version, "+", "-")
	k.Start()
	return r, nil
}

// Stop ends the charts' controller. The kubelets are their owner's.
func (r *RKE2) Stop() { r.charts.Stop() }

// Run brings a machine to a configuration, and a control plane to manifests, given by their files.
func (r *RKE2) Run(ctx context.Context, m Machine, config map[string]any, manifests map[string]string) error {
	if err := r.StartKubelet(ctx, m, config); err != nil || !m.ControlPlane {
		return err
	}
	if err := r.apply(ctx, manifests); err != nil {
		return err
	}
	list := ranchertest.Arguments(r.cluster.Version, config["cloud-provider-name"], config["kube-controller-manager-arg"])
	return r.kubelets.Static(ctx, cluster.Spec{Component: cluster.KCM, Machine: m.Name, Args: list})
}

func (r *RKE2) apply(ctx context.Context, manifests map[string]string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for file, text := range manifests {
		if r.addons[file] == nil {
			r.addons[file] = deploy.NewAddons(r.applier, true)
		}
		if err := r.addons[file].Apply(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// StartKubelet starts the kubelet of a machine with the configuration that RKE2 has there. It registers its
// node where there is none of its name; one that is there keeps its provider ID and its taints, whatever the
// kubelet's provider is.
func (r *RKE2) StartKubelet(ctx context.Context, m Machine, config map[string]any) error {
	name := m.Host
	if config["cloud-provider-name"] == "aws" || fmt.Sprint(config["node-name-from-cloud-provider-metadata"]) == "true" {
		name = m.Instance.Name
	}
	if _, err := r.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return err
	}
	node := cluster.NewNode(name, m.Instance, r.provider(config))
	node.Status.NodeInfo = corev1.NodeSystemInfo{KubeletVersion: r.cluster.Version, OperatingSystem: "linux", MachineID: m.Instance.ID, SystemUUID: m.Instance.ID}
	m.mark(node)
	for _, a := range args.Of(config["node-label"]) {
		key, value, _ := strings.Cut(a.Text, "=")
		node.Labels[key] = value
	}
	for _, a := range args.Of(config["node-taint"]) {
		node.Spec.Taints = append(node.Spec.Taints, taint(a.Text))
	}
	return r.cluster.Register(ctx, node)
}

// mark gives a node the labels of its roles.
func (m Machine) mark(n *corev1.Node) {
	for role, has := range map[string]bool{"control-plane": m.ControlPlane, "etcd": m.Etcd, "worker": m.Worker} {
		if has {
			n.Labels["node-role.kubernetes.io/"+role] = "true"
		}
	}
}

// taint reads one as RKE2's configuration states it.
func taint(text string) corev1.Taint {
	key, effect, _ := strings.Cut(text, ":")
	key, value, _ := strings.Cut(key, "=")
	return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
}

// provider returns the provider of a kubelet.
func (r *RKE2) provider(config map[string]any) cluster.Provider {
	if config["cloud-provider-name"] == nil && fmt.Sprint(config["disable-cloud-controller"]) != "true" {
		return cluster.Stub
	}
	return cluster.Provider(ranchertest.Provider(ranchertest.Arguments(r.cluster.Version, config["cloud-provider-name"], config["kubelet-arg"])))
}
