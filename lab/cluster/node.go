// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/lab/aws"
)

// Uninitialized is the taint of a node that waits for its cloud-controller-manager.
const Uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// Provider is the cloud provider with which a kubelet registers its node.
type Provider string

// The providers.
const (
	InTree   Provider = "aws"      // the kubelet asks the cloud itself, up to 1.26
	External Provider = "external" // it leaves the node to a cloud-controller-manager
	None     Provider = ""         // no one asks the cloud
	Stub     Provider = "rke2"     // it leaves the node to RKE2's own cloud controller, which does its work at once
)

// NewNode returns the node of an instance as its kubelet registers it.
func NewNode(name string, i aws.Instance, with Provider) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}},
		Status: corev1.NodeStatus{
			Conditions: reported(),
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: i.IP}, {Type: corev1.NodeHostName, Address: name}},
			Capacity:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110")},
		},
	}
	switch with {
	case External:
		node.Spec.Taints = []corev1.Taint{{Key: Uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}}
		node.Annotations = map[string]string{"alpha.kubernetes.io/provided-node-ip": i.IP}
	case InTree:
		node.Spec.ProviderID = i.ProviderID()
		node.Labels[corev1.LabelInstanceTypeStable] = i.Type
		node.Labels[corev1.LabelTopologyZone] = aws.Zone
		node.Labels[corev1.LabelTopologyRegion] = aws.Region
	case Stub:
		node.Spec.ProviderID = "rke2://" + name
	}
	return node
}

// reported are the conditions of a node that lacks nothing. Cluster API asks for all of them.
func reported() []corev1.NodeCondition {
	list := []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for _, lack := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		list = append(list, corev1.NodeCondition{Type: lack, Status: corev1.ConditionFalse})
	}
	for i := range list {
		list[i].LastHeartbeatTime, list[i].LastTransitionTime = metav1.Now(), metav1.Now()
	}
	return list
}

// Join launches a machine and registers its node under the name of the instance. Number has to be the
// machine's own.
func (c *Cluster) Join(ctx context.Context, number int, with Provider) (aws.Instance, error) {
	instance := c.AWS.Launch(number)
	return instance, c.Register(ctx, NewNode(instance.Name, instance, with))
}

// Register registers a node as its kubelet does when it starts.
func (c *Cluster) Register(ctx context.Context, node *corev1.Node) error {
	client, err := c.Client(Admin)
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("lab: node %s: %w", node.Name, err)
	}
	return nil
}

// NodeProblem reports what is wrong with the node of an instance, or "".
func NodeProblem(node *corev1.Node, want aws.Instance) string {
	for _, t := range node.Spec.Taints {
		if t.Key == Uninitialized {
			return "it waits to be initialised"
		}
	}
	if node.Spec.ProviderID != want.ProviderID() {
		return fmt.Sprintf("its provider ID is %q, not %q", node.Spec.ProviderID, want.ProviderID())
	}
	for label, value := range map[string]string{
		corev1.LabelInstanceTypeStable: want.Type, corev1.LabelTopologyZone: aws.Zone, corev1.LabelTopologyRegion: aws.Region,
	} {
		if node.Labels[label] != value {
			return fmt.Sprintf("its label %s is %q, not %q", label, node.Labels[label], value)
		}
	}
	return ""
}
