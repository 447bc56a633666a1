// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/aws"
	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// The chart's own node selector, and values without tolerations, match no control plane of RKE2. A rollout
// of no pods counts as done, and the switch leaves the Services to no one.
func TestADaemonSetThatWantsNoPodsLeavesTheServicesToNoOne(t *testing.T) {
	s := mistake(t)
	s.controlPlane(s.join())
	assert.NilError(t, s.cluster.StartScheduler(t.Context()))
	plan := planned(t, document(t, "rke2.yaml"))
	s.rollOut(at(s, plan, stages.EnableLeaderMigration))
	s.gate(stages.EnableLeaderMigration)
	chart := at(s, plan, stages.InstallCCM).CCM
	for _, missing := range []string{"nodeSelector", "tolerations"} {
		s.install(without(chart, missing), 0)
		s.faulted(stages.InstallCCM, "daemonset-empty")
	}

	s.rollOut(withoutPods(at(s, plan, stages.SwitchToExternal)))
	s.leads(cluster.KCM)
	assert.NilError(t, s.service(t.Context(), "web"))
	s.stays("the Service waits", s.unserved)

	s.install(chart, 1)
	s.scheduled()
	s.rollOut(at(s, plan, stages.SwitchToExternal))
	s.served()
	s.approved(stages.SwitchToExternal)
	s.end("daemonset-empty")
}

// controlPlane gives a node the labels and taints of RKE2's control planes without other roles.
func (s *scenario) controlPlane(i aws.Instance) {
	s.Helper()
	ctx := s.Context()
	node := assert.Value(s.client.CoreV1().Nodes().Get(ctx, i.Name, metav1.GetOptions{}))(s)
	maps.Copy(node.Labels, map[string]string{"node-role.kubernetes.io/control-plane": "true", "node-role.kubernetes.io/etcd": "true"})
	node.Spec.Taints = append(node.Spec.Taints,
		corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule},
		corev1.Taint{Key: "node-role.kubernetes.io/etcd", Effect: corev1.TaintEffectNoExecute})
	if _, err := s.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// without is a chart whose values lack a key.
func without(chart *agent.Chart, key string) *agent.Chart {
	c := *chart
	values := maps.Clone(chart.Values.(map[string]any))
	delete(values, key)
	c.Values = values
	return &c
}

// withoutPods is what runs when the DaemonSet wants no pods.
func withoutPods(w agent.Wanted) agent.Wanted {
	w.CCM = nil
	return w
}

// where is what a chart's values say about where its pods go.
type where struct {
	NodeSelector map[string]string   `json:"nodeSelector"`
	Tolerations  []corev1.Toleration `json:"tolerations"`
}

// merged is what Helm makes of values: it merges maps with the chart's own, and replaces lists.
func (s *scenario) merged(values any) where {
	s.Helper()
	defaults := assert.Value(build.ChartValues(s.Context()))(s)
	given := assert.Value(yaml.Marshal(values))(s)
	var own, w where
	assert.NilError(s, errors.Join(yaml.Unmarshal(defaults, &own), yaml.Unmarshal(given, &w)))
	if w.Tolerations == nil {
		w.Tolerations = own.Tolerations
	}
	maps.Copy(own.NodeSelector, w.NodeSelector)
	return where{own.NodeSelector, w.Tolerations}
}

// daemonSet is the chart's.
func daemonSet(chart *agent.Chart, at where) *appsv1.DaemonSet {
	labels := map[string]string{"k8s-app": container}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: container, Namespace: metav1.NamespaceSystem},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeSelector: at.NodeSelector, Tolerations: at.Tolerations, HostNetwork: true, ServiceAccountName: string(cluster.CCM),
					Containers: []corev1.Container{{Name: container, Image: images[cluster.CCM] + chart.Minor + ".0", Args: chart.Args}},
				},
			},
		},
	}
}

// install brings the chart's DaemonSet to values, and waits until it wants so many pods.
func (s *scenario) install(chart *agent.Chart, pods int32) {
	s.Helper()
	sets, set := s.client.AppsV1().DaemonSets(metav1.NamespaceSystem), daemonSet(chart, s.merged(chart.Values))
	_, err := sets.Create(s.Context(), set, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = sets.Update(s.Context(), set, metav1.UpdateOptions{})
	}
	if err != nil {
		s.Fatal(err)
	}
	s.eventually(fmt.Sprintf("a DaemonSet that wants %d pods", pods), func(ctx context.Context) bool {
		set, err := sets.Get(ctx, container, metav1.GetOptions{})
		return err == nil && set.Status.ObservedGeneration == set.Generation && set.Status.DesiredNumberScheduled == pods
	})
}

// scheduled waits until the pod of the DaemonSet has its node; its kubelet then reports its status.
func (s *scenario) scheduled() {
	s.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: string(cluster.CCM)}}
	if _, err := s.client.CoreV1().ServiceAccounts(metav1.NamespaceSystem).Create(s.Context(), account, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
	s.eventually("a pod with a node", func(ctx context.Context) bool {
		pods, err := s.client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: "k8s-app=" + container})
		if err != nil || len(pods.Items) != 1 || pods.Items[0].Spec.NodeName == "" {
			return false
		}
		s.chartPod.Store(&pods.Items[0].Name)
		return true
	})
}
