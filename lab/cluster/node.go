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

// Join launches a machine and registers its node as its kubelet does. A kubelet with the in-tree provider
// asks the cloud itself; one with an external provider leaves it to the cloud-controller-manager. Number
// has to be the machine's own.
func (c *Cluster) Join(ctx context.Context, number int, external bool) (aws.Instance, error) {
	instance := c.AWS.Launch(number)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: instance.Name, Labels: map[string]string{
			corev1.LabelHostname: instance.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}},
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: instance.IP}, {Type: corev1.NodeHostName, Address: instance.Name}},
			Capacity:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110")},
		},
	}
	if external {
		node.Spec.Taints = []corev1.Taint{{Key: Uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}}
		node.Annotations = map[string]string{"alpha.kubernetes.io/provided-node-ip": instance.IP}
	} else {
		node.Spec.ProviderID = instance.ProviderID()
		node.Labels[corev1.LabelInstanceTypeStable] = instance.Type
		node.Labels[corev1.LabelTopologyZone] = aws.Zone
		node.Labels[corev1.LabelTopologyRegion] = aws.Region
	}
	client, err := c.Client(Admin)
	if err != nil {
		return instance, err
	}
	if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return instance, fmt.Errorf("lab: node %s: %w", instance.Name, err)
	}
	return instance, nil
}

// NodeProblem says what is wrong with the node of an instance, or "".
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
