// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Evictions are what has to leave a Node before it is deleted.
type Evictions struct {
	Evict []string // namespace/name
	Going []string // that are evicted and not gone yet
	// Lost names a pod that no controller makes again elsewhere; "" for none.
	Lost string
}

// Evict sorts the pods of a Node as kubectl drain --ignore-daemonsets --delete-emptydir-data does
// (k8s.io/kubectl pkg/drain/filters.go): those of DaemonSets and static pods stay, those that ended
// do not matter.
func Evict(pods []corev1.Pod) Evictions {
	var e Evictions
	for i := range pods {
		p := &pods[i]
		name := p.Namespace + "/" + p.Name
		owner := metav1.GetControllerOf(p)
		switch {
		case stays(p, owner):
		case p.DeletionTimestamp != nil:
			e.Going = append(e.Going, name)
		case owner == nil && e.Lost == "":
			e.Lost = name
		default:
			e.Evict = append(e.Evict, name)
		}
	}
	slices.Sort(e.Evict)
	return e
}

func stays(p *corev1.Pod, owner *metav1.OwnerReference) bool {
	_, static := p.Annotations[corev1.MirrorPodAnnotationKey]
	ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	return static || ended || owner != nil && owner.Kind == "DaemonSet"
}
