// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/live/transition"
)

// drain cordons a Node and evicts its pods, and waits until they are gone. The library of kubectl
// drain makes the evictions itself, which here are writes of the run.
func (r *run) drain(ctx context.Context, name string) error {
	if err := r.cordon.cordonNode(ctx, name); err != nil {
		return err
	}
	onNode := kube.Resource{Version: "v1", Name: "pods", Kind: "PodList", Options: metav1.ListOptions{FieldSelector: "spec.nodeName=" + name}}
	return r.await(ctx, func(ctx context.Context) (condition, error) {
		pods, err := kube.Collect(ctx, r.cluster.observer.Client, onNode, func(p *corev1.Pod, kept []corev1.Pod) []corev1.Pod { return append(kept, *p) })
		if err != nil {
			return condition{}, kube.Refusal(err)
		}
		e := transition.Evict(pods)
		if e.Lost != "" {
			return condition{}, fmt.Errorf("the node %s cannot be drained: no controller makes the pod %s again on another node; delete the pod, or move it", name, e.Lost)
		}
		refused := ""
		for _, pod := range e.Evict {
			why, err := r.evict(ctx, pod)
			if err != nil {
				return condition{}, err
			}
			refused = cmp.Or(why, refused)
		}
		left := len(e.Evict) + len(e.Going)
		return condition{done: left == 0, waiting: fmt.Sprintf("%d pods are still on the node %s%s", left, name, refused)}, nil
	})
}

// evict asks for the eviction of a pod. What a PodDisruptionBudget does not allow yet is requested
// again; why names it.
func (r *run) evict(ctx context.Context, pod string) (why string, err error) {
	namespace, name, _ := strings.Cut(pod, "/")
	eviction := policyv1.Eviction{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}
	err = r.writer.write(ctx, write{act: actEvict, object: r.cluster.own("Pod", namespace, name), do: func(ctx context.Context) error {
		_, err := r.cluster.observer.Do(ctx, kube.Request{
			What: "create pods/eviction", Method: http.MethodPost, Path: kube.Path("v1", "pods", namespace, name) + "/eviction", Body: eviction,
		})
		return err
	}})
	switch {
	case kube.HasStatus(err, http.StatusNotFound):
		return "", nil
	case kube.HasStatus(err, http.StatusTooManyRequests):
		return ": a PodDisruptionBudget does not allow the eviction of " + pod, nil
	}
	return "", kube.Refusal(err)
}
