// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// NodeName is the name of a node of Fill.
func NodeName(i int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.eu-west-1.compute.internal", i/62500, i/250%250, i%250+1)
}

// Fill gives the server a cluster of so many nodes after install-ccm: three
// control planes with both managers, all of them alive.
func (s *Server) Fill(nodes int) {
	s.Nodes = nil
	for i := range nodes {
		s.Nodes = append(s.Nodes, node(i))
	}
	s.Pods, s.Leases = nil, nil
	for i := range 3 {
		s.Pods = append(s.Pods, kubeManager(i), cloudManager(i))
	}
	s.DaemonSets = []appsv1.DaemonSet{daemonSet()}
	for lease, holder := range map[string]string{
		"kube-controller-manager": "0_8f0e", "cloud-controller-manager": "1_b63d", "cloud-provider-extraction-migration": "0_8f0e",
	} {
		s.Hold(lease, NodeName(int(holder[0]-'0'))+holder[1:])
	}
}

// Hold lets someone alive hold a lease.
func (s *Server) Hold(name, holder string) {
	var seconds, transitions int32 = 15, 1
	l := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}}
	l.Spec = coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, LeaseTransitions: &transitions}
	s.Renews[name] = true
	for i := range s.Leases {
		if s.Leases[i].Name == name {
			s.Leases[i] = l
			return
		}
	}
	s.Leases = append(s.Leases, l)
}

func node(i int) corev1.Node {
	zone := "eu-west-1" + string(rune('a'+i%3))
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: NodeName(i), UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", i)), Labels: map[string]string{
		"topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": "eu-west-1", "node.kubernetes.io/instance-type": "m5.xlarge",
	}}}
	n.Spec.ProviderID = fmt.Sprintf("aws:///%s/i-%017x", zone, 0xa4c19d2e7b35f801+uint64(i)*0x9e37)
	if i < 3 {
		n.Labels["node-role.kubernetes.io/control-plane"] = "true"
		n.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"}}
	return n
}

func kubeManager(i int) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-controller-manager-" + NodeName(i), Labels: map[string]string{"component": "kube-controller-manager"}, Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "5f1d"}}}
	p.Spec = corev1.PodSpec{NodeName: NodeName(i), HostNetwork: true, Containers: []corev1.Container{{
		Name: "kube-controller-manager", Image: "index.docker.io/rancher/hardened-kubernetes:v1.26.15-rke2r1-build20240315",
		Command: []string{"kube-controller-manager"}, Args: []string{"--cloud-provider=aws", "--configure-cloud-routes=false", "--enable-leader-migration=true"},
	}}}
	p.Status.Phase = corev1.PodRunning
	return p
}

var managerLabels = map[string]string{"k8s-app": "aws-cloud-controller-manager"}

func cloudSpec() corev1.PodSpec {
	return corev1.PodSpec{HostNetwork: true, ServiceAccountName: "cloud-controller-manager", Containers: []corev1.Container{{
		Name: "aws-cloud-controller-manager", Image: "registry.k8s.io/provider-aws/cloud-controller-manager:v1.26.6",
		Args: []string{"--v=2", "--cloud-provider=aws", "--configure-cloud-routes=false", "--enable-leader-migration=true"},
	}}}
}

func cloudManager(i int) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: fmt.Sprintf("aws-cloud-controller-manager-%d", i), Labels: managerLabels}, Spec: cloudSpec()}
	p.Spec.NodeName = NodeName(i)
	p.Status.Phase = corev1.PodRunning
	return p
}

func daemonSet() appsv1.DaemonSet {
	d := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "aws-cloud-controller-manager"}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: managerLabels}
	d.Spec.Template.Spec = cloudSpec()
	d.Status = appsv1.DaemonSetStatus{DesiredNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberReady: 3}
	return d
}
