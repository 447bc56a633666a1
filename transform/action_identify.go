// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

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
