// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/lab/cluster"
)

const (
	controlPlanes = 3
	writers       = 16
)

// fill gives the cluster its nodes, each with the lease and the drivers that a kubelet makes, and the
// managers of a complete migration. There are no other pods: describe would read all of them for
// every node.
func (b *bench) fill(ctx context.Context, c *cluster.Cluster) error {
	config := c.Config(cluster.Admin)
	config.QPS, config.ContentType, config.UserAgent = -1, "application/vnd.kubernetes.protobuf", "kubelet"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := managers(ctx, client); err != nil {
		return err
	}
	if err := b.register(ctx, client); err != nil {
		return err
	}
	raw, err := client.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes", nodeName(b.nodes-1)).SetHeader("Accept", "application/json").DoRaw(ctx)
	b.nodeSize = len(raw)
	return err
}

// register makes all nodes, many at a time.
func (b *bench) register(ctx context.Context, client kubernetes.Interface) error {
	var next atomic.Int64
	errs := make([]error, writers)
	var all sync.WaitGroup
	for w := range errs {
		all.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= b.nodes {
					return
				}
				if i%100 == 0 {
					b.show(fmt.Sprintf("making node %d of %d", i, b.nodes))
				}
				errs[w] = join(ctx, client, i)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// join makes what a kubelet makes when it joins.
func join(ctx context.Context, client kubernetes.Interface, i int) error {
	if _, err := client.CoreV1().Nodes().Create(ctx, node(i), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("bench: node %d: %w", i, err)
	}
	name, seconds, now := nodeName(i), int32(40), metav1.NowMicro()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now}}
	if _, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(ctx, lease, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("bench: lease of node %d: %w", i, err)
	}
	drivers := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "ebs.csi.aws.com", NodeID: fmt.Sprintf("i-%017x", i), TopologyKeys: []string{"topology.ebs.csi.aws.com/zone"}}}}}
	if _, err := client.StorageV1().CSINodes().Create(ctx, drivers, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("bench: drivers of node %d: %w", i, err)
	}
	return nil
}

var cloudLabels = map[string]string{"k8s-app": "aws-cloud-controller-manager"}

// managers shows the managers after the last stage, as mirrors of static pods.
func managers(ctx context.Context, client kubernetes.Interface) error {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "aws-cloud-controller-manager", Labels: cloudLabels}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: cloudLabels}
	set.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: cloudLabels}, Spec: cloudManager()}
	made, err := client.AppsV1().DaemonSets(metav1.NamespaceSystem).Create(ctx, set, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Status = appsv1.DaemonSetStatus{ObservedGeneration: made.Generation, CurrentNumberScheduled: controlPlanes, DesiredNumberScheduled: controlPlanes, UpdatedNumberScheduled: controlPlanes, NumberReady: controlPlanes, NumberAvailable: controlPlanes}
	if _, err := client.AppsV1().DaemonSets(metav1.NamespaceSystem).UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := leader(ctx, client); err != nil {
		return err
	}
	for i := range controlPlanes {
		for name, p := range map[string]struct {
			labels map[string]string
			spec   corev1.PodSpec
		}{
			"kube-controller-manager":      {map[string]string{"component": "kube-controller-manager"}, kubeManager()},
			"aws-cloud-controller-manager": {cloudLabels, cloudManager()},
		} {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name + "-" + nodeName(i), Labels: p.labels, Annotations: map[string]string{corev1.MirrorPodAnnotationKey: name}}, Spec: p.spec}
			pod.Spec.NodeName = nodeName(i)
			if err := run(ctx, client, pod); err != nil {
				return err
			}
		}
	}
	return nil
}

// leader gives the cloud-controller-manager its lease, and the permission that the chart gives it.
func leader(ctx context.Context, client kubernetes.Interface) error {
	const name = "cloud-controller-manager"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "system:" + name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, Verbs: []string{"create", "get", "list", "watch", "update"}},
	}}
	if _, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("bench: ClusterRole %s: %w", role.Name, err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: metav1.NamespaceSystem}},
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("bench: ClusterRoleBinding %s: %w", binding.Name, err)
	}
	holder, seconds, now := nodeName(0)+"_5d0f1f0e-0000-4000-8000-000000000000", int32(15), metav1.NowMicro()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now}}
	lease, err := client.CoordinationV1().Leases(metav1.NamespaceSystem).Create(ctx, lease, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("bench: lease %s: %w", name, err)
	}
	go renew(ctx, client, lease)
	return nil
}

// renew renews a lease as a leader does. Where that fails, verify reports it.
func renew(ctx context.Context, client kubernetes.Interface, lease *coordinationv1.Lease) {
	for ctx.Err() == nil {
		kube.Pause(ctx, 2*time.Second)
		now := metav1.NowMicro()
		lease.Spec.RenewTime = &now
		if renewed, err := client.CoordinationV1().Leases(lease.Namespace).Update(ctx, lease, metav1.UpdateOptions{}); err == nil {
			lease = renewed
		}
	}
}

// run makes a pod that runs.
func run(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) error {
	made, err := client.CoreV1().Pods(metav1.NamespaceSystem).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("bench: pod %s: %w", pod.Name, err)
	}
	made.Status.Phase = corev1.PodRunning
	_, err = client.CoreV1().Pods(metav1.NamespaceSystem).UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return err
}

func kubeManager() corev1.PodSpec {
	return corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{
		Name: "kube-controller-manager", Image: "index.docker.io/rancher/hardened-kubernetes:v1.26.15-rke2r1-build20240315",
		Command: []string{"kube-controller-manager"}, Args: []string{"--cloud-provider=external", "--configure-cloud-routes=false"},
	}}}
}

func cloudManager() corev1.PodSpec {
	return corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{
		Name: "aws-cloud-controller-manager", Image: "registry.k8s.io/provider-aws/cloud-controller-manager:v1.26.6",
		Args: []string{"--v=2", "--cloud-provider=aws", "--configure-cloud-routes=false"},
	}}}
}
