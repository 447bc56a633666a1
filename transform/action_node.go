// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform/shell"
)

// PodsRunning looks at the pods of a manager on all nodes.
type PodsRunning struct{ Namespace, Component, Why string }

// Purpose implements Action.
func (a PodsRunning) Purpose() string { return a.Why }

// Command implements Action.
func (a PodsRunning) Command() string {
	return shell.Line("kubectl -n %s get pods -o wide | grep %--%s", a.Namespace, a.Component)
}

// WorkloadDone waits until a Deployment or DaemonSet runs as it is written.
type WorkloadDone struct{ Namespace, Kind, Name string }

// Purpose implements Action.
func (WorkloadDone) Purpose() string { return "after the edit, wait for the new pods" }

// Command implements Action.
func (a WorkloadDone) Command() string {
	return shell.Line("kubectl -n %s rollout status %--%s/%s", a.Namespace, a.Kind, a.Name)
}

// KubeadmFile is what KubeadmSource writes.
const KubeadmFile = "ClusterConfiguration.yaml"

// KubeadmSource fetches what kubeadm writes static pods from.
type KubeadmSource struct{}

// Purpose implements Action.
func (KubeadmSource) Purpose() string {
	return "if kubeadm manages the cluster, make the same change in its ClusterConfiguration, or its next upgrade reverts it; rke-lm plans that document like this one"
}

// Command implements Action.
func (KubeadmSource) Command() string {
	return shell.Line("kubectl -n kube-system get configmap kubeadm-config -o jsonpath='{.data.ClusterConfiguration}' > %s", KubeadmFile)
}

// KubeadmUpload stores a ClusterConfiguration in the cluster.
type KubeadmUpload struct{ File string }

// Purpose implements Action.
func (KubeadmUpload) Purpose() string {
	return "upload the changed ClusterConfiguration to the cluster; this changes no static pod"
}

// Command implements Action.
func (a KubeadmUpload) Command() string {
	return shell.Line("kubeadm init phase upload-config kubeadm --config %s", shell.Path(a.File))
}

// APIServerProvider changes the provider of kube-apiserver where it has one. The
// new file is written elsewhere and moved in: the kubelet starts every file in
// the folder that has no dot in front.
type APIServerProvider struct{ From, To string }

// Purpose implements Action.
func (a APIServerProvider) Purpose() string {
	return fmt.Sprintf("on the control-plane nodes, one at a time, make kube-apiserver %s where it has --cloud-provider=%s", a.To, a.From)
}

// Command implements Action.
func (a APIServerProvider) Command() string {
	return shell.Line("sed %s /etc/kubernetes/manifests/kube-apiserver.yaml > /etc/kubernetes/kube-apiserver.yaml && mv /etc/kubernetes/kube-apiserver.yaml /etc/kubernetes/manifests/", otherProvider(a.From, a.To))
}

// KubeletProvider changes the provider of the kubelets. KubeletConfiguration has
// no field for it: it is a flag, in the files of the environment that kubeadm and
// the packages of the kubelet use. Also says what else to do.
type KubeletProvider struct{ From, To, When, Also string }

// Purpose implements Action.
func (a KubeletProvider) Purpose() string {
	return fmt.Sprintf("%s, on the nodes, one at a time, make the kubelet %s: it is a flag in an environment file, not a field of KubeletConfiguration%s", a.When, a.To, a.Also)
}

// Command implements Action.
func (a KubeletProvider) Command() string {
	return shell.Line("grep -Fls -e --cloud-provider=%s /var/lib/kubelet/kubeadm-flags.env /etc/default/kubelet /etc/sysconfig/kubelet | xargs -r sed -i %s && systemctl restart kubelet", a.From, otherProvider(a.From, a.To))
}

// otherProvider is the program of sed that changes the provider among arguments.
func otherProvider(from, to string) string {
	const flag = "--cloud-provider="
	return shell.Substitute(flag+from, flag+to)
}

// InitializeNodes has the cloud-controller-manager read the instances of Nodes without a
// provider ID. A kubelet without a cloud provider sets none and no taint, and the manager
// initializes only Nodes with the taint (k8s.io/cloud-provider, controllers/node). It finds
// an instance by the Node's name alone, as its private DNS name (kubernetes/cloud-provider-aws,
// pkg/providers/v1/aws.go findInstanceByNodeName at v1.31.9).
type InitializeNodes struct{}

// Purpose implements Action.
func (InitializeNodes) Purpose() string {
	return "have the cloud-controller-manager initialize every Node without a provider ID; it finds the instance by the Node's name, so first check that this is the private DNS name of the instance (local-hostname in its metadata)"
}

// Command implements Action.
func (InitializeNodes) Command() string {
	return `kubectl get nodes --no-headers -o custom-columns=NAME:.metadata.name,ID:.spec.providerID | awk '$2 == "<none>" {print $1}' | xargs -r -I{} kubectl taint node {} --overwrite node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule`
}

// RegisterNodes brings Nodes that another cloud-controller-manager initialized to AWS. A
// provider ID never changes (k8s.io/kubernetes pkg/apis/core/validation), and a kubelet
// registers its Node only when it starts. RKE2 removes the etcd member of a Node that is
// deleted (k3s-io/k3s pkg/etcd/member_controller.go), so the machine of a member is replaced.
type RegisterNodes struct{}

// Purpose implements Action.
func (RegisterNodes) Purpose() string {
	return "for every Node with the provider ID of another provider, such as rke2://, one at a time: drain it, delete the Node, and restart rke2-agent on its machine, or rke2-server on a control plane without etcd; never delete the Node of an etcd member, because RKE2 then removes the member: replace its machine"
}

// Command implements Action.
func (RegisterNodes) Command() string {
	return `kubectl get nodes -o custom-columns='NAME:.metadata.name,PROVIDER-ID:.spec.providerID,CONTROL-PLANE:.metadata.labels.node-role\.kubernetes\.io/control-plane,ETCD:.metadata.labels.node-role\.kubernetes\.io/etcd'`
}
