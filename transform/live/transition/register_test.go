// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestPodsOfDaemonSetsAndStaticPodsStayOnADrainedNode(t *testing.T) {
	yes, now := true, metav1.Now()
	pod := func(name, controller string, change func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		if controller != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: controller, Name: name, Controller: &yes}}
		}
		if change != nil {
			change(&p)
		}
		return p
	}
	e := Evict([]corev1.Pod{
		pod("web", "ReplicaSet", nil),
		pod("db", "StatefulSet", nil),
		pod("log", "DaemonSet", nil),
		pod("kube-proxy", "", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }),
		pod("ended", "", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		pod("ends", "ReplicaSet", func(p *corev1.Pod) { p.DeletionTimestamp = &now }),
	})
	assert.True(t, slices.Equal(e.Evict, []string{"ns/db", "ns/web"}) && slices.Equal(e.Going, []string{"ns/ends"}) && e.Lost == "", e)
	if e := Evict([]corev1.Pod{pod("alone", "", nil)}); e.Lost != "ns/alone" {
		t.Errorf("%+v", e)
	}
}
