// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// cordon cordons Nodes for the switch, and uncordons those that a run over this cluster
// cordoned, and no others.
type cordon struct {
	*run
	mark    string          // on the Nodes that a run over this cluster cordons
	mayHold bool            // this run may have left Nodes cordoned
	foreign map[string]bool // Nodes that were cordoned before the run, and not by one
}

// cordonNodes cordons the Nodes that are not cordoned yet, and marks them.
func (c *cordon) cordonNodes(ctx context.Context, a action.Cordon) error {
	names, err := c.nodeNames(ctx, a.Selector, func(n *corev1.Node) bool { return !n.Spec.Unschedulable })
	if err != nil {
		return err
	}
	return forEach(ctx, names, c.cordonNode)
}

// cordonNode cordons a Node, and marks it.
func (c *cordon) cordonNode(ctx context.Context, name string) error {
	c.mayHold = true
	return c.change(ctx, actCordon, name, func(n *yamledit.Document) (*yamledit.Document, error) { return transition.Cordon(n, c.mark) })
}

// uncordonNodes uncordons the Nodes that a run over this cluster cordoned, and no
// other ones. One that cannot be uncordoned keeps none of the others.
func (c *cordon) uncordonNodes(ctx context.Context) error {
	names, err := c.nodeNames(ctx, "", func(n *corev1.Node) bool { return n.Annotations[action.CordonAnnotation] == c.mark })
	if err != nil {
		return err
	}
	for _, name := range names {
		err = errors.Join(err, c.change(ctx, actRelease, name, func(n *yamledit.Document) (*yamledit.Document, error) { return transition.Release(n, c.mark) }))
		if ctx.Err() != nil {
			break
		}
	}
	c.mayHold = c.mayHold && err != nil
	return err
}

// errMoved means that a Node changed since it was read, again and again.
var errMoved = errors.New("the node changes all the time; run the command again")

// nodeTries is how often a Node is read again that others write as well.
const nodeTries = 10

// change changes a Node by a patch that fits only the version that was read.
func (c *cordon) change(ctx context.Context, act, name string, edit func(*yamledit.Document) (*yamledit.Document, error)) error {
	for range nodeTries {
		before, err := c.node(ctx, name)
		if err != nil || before == nil {
			return err
		}
		after, err := edit(before)
		if err != nil {
			return err
		}
		p, err := jsonpatch.Diff(before.Bytes(), after.Bytes())
		if err != nil || len(p) == 0 {
			return err
		}
		err = c.write(ctx, act, c.own("Node", "", name), p.Digest(), func(ctx context.Context) error {
			return c.patchNode(ctx, name, p)
		})
		if !kube.HasStatus(err, http.StatusUnprocessableEntity, http.StatusConflict) {
			return err
		}
	}
	return errMoved
}

// noteForeign remembers which Nodes were cordoned before, and not by a run.
func (c *cordon) noteForeign(seen *observed.Observation) {
	c.foreign = map[string]bool{}
	for _, n := range seen.Nodes {
		if n.Unschedulable && n.Cordoned != c.mark {
			c.foreign[n.Name] = true
		}
	}
}

// noteReleased reports which of them are cordoned no more: RKE releases every Node at
// the end of its run.
func (c *cordon) noteReleased(seen *observed.Observation) {
	for _, n := range seen.Nodes {
		if c.foreign[n.Name] && !n.Unschedulable {
			delete(c.foreign, n.Name)
			c.note("the node " + n.Name + " was cordoned before the run, and was uncordoned since, as RKE does: cordon it again if it must stay cordoned")
		}
	}
}

// drain cordons a Node and evicts its pods, and waits until they are gone. The library of kubectl
// drain makes the evictions itself, which here are writes of the run.
func (r *run) drain(ctx context.Context, name string) error {
	if err := r.cordon.cordonNode(ctx, name); err != nil {
		return err
	}
	onNode := kube.Resource{Version: "v1", Name: "pods", Kind: "PodList", Options: metav1.ListOptions{FieldSelector: "spec.nodeName=" + name}}
	return r.await(ctx, func(ctx context.Context) (condition, error) {
		pods, err := kube.Collect(ctx, r.observer.Client, onNode, func(p *corev1.Pod, kept []corev1.Pod) []corev1.Pod { return append(kept, *p) })
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
			if why != "" {
				refused = ": " + why
			}
		}
		left := len(e.Evict) + len(e.Going)
		return condition{done: left == 0, waiting: fmt.Sprintf("%d pods are still on the node %s%s", left, name, refused)}, nil
	})
}

// evict asks for the eviction of a pod. What a PodDisruptionBudget does not allow yet is requested
// again.
func (r *run) evict(ctx context.Context, pod string) (why string, err error) {
	namespace, name, _ := strings.Cut(pod, "/")
	eviction := policyv1.Eviction{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}
	err = r.write(ctx, actEvict, r.own("Pod", namespace, name), "", func(ctx context.Context) error {
		_, err := r.observer.Do(ctx, kube.Request{
			What: "create pods/eviction", Method: http.MethodPost, Path: kube.Path("v1", "pods", namespace, name) + "/eviction", Body: eviction,
		})
		return err
	})
	switch {
	case kube.HasStatus(err, http.StatusNotFound):
		return "", nil
	case kube.HasStatus(err, http.StatusTooManyRequests):
		return "a PodDisruptionBudget does not allow the eviction of " + pod, nil
	}
	return "", kube.Refusal(err)
}
