// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"fmt"
	"reflect"

	rkev1 "github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// provisioning is what Rancher does for one RKE2 cluster.
type provisioning struct {
	*Server
	*Downstream
}

// sync takes the cluster one step further: the object's specification into the RKEControlPlane, from there
// into the plans of the machines, and what has become of it back.
func (r *provisioning) sync(ctx context.Context) error {
	object, err := r.dynamic.Resource(clusters).Namespace(Namespace).Get(ctx, r.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	text, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	want, err := ranchertest.ControlPlane(text, r.Name, r.ID)
	if err != nil {
		return err
	}
	if err := r.copySpec(ctx, want); err != nil {
		return err
	}
	o, cp, err := r.controlPlane(ctx)
	if err != nil {
		return err
	}
	if cp.Status.ObservedGeneration != cp.Generation {
		return r.status(ctx, o, "configuring the cluster")
	}
	waiting, err := r.process(ctx, text, o, cp)
	if err != nil {
		return err
	}
	if err := r.status(ctx, o, waiting); err != nil {
		return err
	}
	return r.copyStatus(ctx, object, waiting)
}

// copySpec writes the RKEControlPlane, if what it should say is not what it says.
func (r *provisioning) copySpec(ctx context.Context, want *rkev1.RKEControlPlaneSpec) error {
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return err
	}
	_, cp, err := r.controlPlane(ctx)
	if apierrors.IsNotFound(err) {
		return r.create(ctx, controlPlanes, Namespace, map[string]any{
			"apiVersion": "rke.cattle.io/v1", "kind": "RKEControlPlane", "spec": spec,
			"metadata": map[string]any{"name": r.Name, "namespace": Namespace, "labels": map[string]any{"cluster.x-k8s.io/cluster-name": r.Name}},
		})
	}
	if err != nil || equality.Semantic.DeepEqual(&cp.Spec, want) {
		return err
	}
	return r.change(ctx, controlPlanes, Namespace, r.Name, func(o map[string]any) { o["spec"] = spec })
}

func (r *provisioning) controlPlane(ctx context.Context) (*unstructured.Unstructured, *rkev1.RKEControlPlane, error) {
	o, err := r.dynamic.Resource(controlPlanes).Namespace(Namespace).Get(ctx, r.Name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	var cp rkev1.RKEControlPlane
	return o, &cp, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &cp)
}

// process brings the machines to the specification, snapshots first, and returns what it waits for.
func (r *provisioning) process(ctx context.Context, text []byte, o *unstructured.Unstructured, cp *rkev1.RKEControlPlane) (string, error) {
	doc, err := yamledit.ParseString(r.Name, string(text))
	if err != nil {
		return "", err
	}
	read, err := rke2.Open(doc, transform.Target{})
	if err != nil {
		return "", err
	}
	if waiting, err := r.snapshot(ctx, o, cp, read); waiting != "" || err != nil {
		return waiting, err
	}
	if paused, err := r.paused(ctx, o); paused || err != nil {
		return "CAPI cluster or RKEControlPlane is paused", err
	}
	for _, m := range r.Machines {
		p, err := r.render(m, read, nil)
		if err != nil {
			return "", err
		}
		if failure, err := r.assign(ctx, m, p, ordinary); err != nil || failure != "" {
			return fmt.Sprintf("configuring %s node(s) %s: %s", role(m), m.Name, failure), err
		}
	}
	return ranchertest.NonReady(r.notLinked()), nil
}

// paused reports what the planner obeys, after snapshots of etcd (rancher pkg/capr/planner).
func (r *provisioning) paused(ctx context.Context, o *unstructured.Unstructured) (bool, error) {
	_, marked := o.GetAnnotations()["cluster.x-k8s.io/paused"]
	c, err := r.dynamic.Resource(infrastructure).Namespace(Namespace).Get(ctx, r.Name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	paused, _, err := unstructured.NestedBool(c.Object, "spec", "paused")
	return paused || marked, err
}

func role(m Machine) string {
	switch {
	case m.Etcd:
		return "etcd"
	case m.ControlPlane:
		return "control plane"
	}
	return "worker"
}

// snapshot answers a request for a snapshot of etcd (rancher pkg/capr/planner): a plan with one more
// instruction on every etcd machine, then the plan without it again.
func (r *provisioning) snapshot(ctx context.Context, o *unstructured.Unstructured, cp *rkev1.RKEControlPlane, read *rke2.Cluster) (string, error) {
	asked, phase := cp.Spec.ETCDSnapshotCreate, cp.Status.ETCDSnapshotCreatePhase
	switch {
	case asked == nil:
		return "", nil
	case !reflect.DeepEqual(asked, cp.Status.ETCDSnapshotCreate) || phase == "":
		return "refreshing etcd create state", r.phase(ctx, o, asked, rkev1.ETCDSnapshotPhaseStarted)
	case phase == rkev1.ETCDSnapshotPhaseFinished || phase == rkev1.ETCDSnapshotPhaseFailed:
		return "", nil
	}
	next, with := rkev1.ETCDSnapshotPhaseFinished, restarts
	extra := []string(nil)
	if phase == rkev1.ETCDSnapshotPhaseStarted {
		next, with, extra = rkev1.ETCDSnapshotPhaseRestartCluster, snapshots, []string{"etcd-snapshot", "save"}
	}
	for i, m := range r.Machines {
		if !m.Etcd {
			continue
		}
		p, err := r.render(m, read, extra)
		if err != nil {
			return "", err
		}
		l := with
		if i == 0 && extra == nil { // the init node is reconciled as ever
			l = ordinary
		}
		failure, err := r.assign(ctx, m, p, l)
		switch {
		case err != nil:
			return "", err
		case failure == planFailed && extra != nil:
			return "operation etcd snapshot on node " + m.Node + " failed", r.phase(ctx, o, asked, rkev1.ETCDSnapshotPhaseFailed)
		case failure != "":
			return "etcd snapshot on node " + m.Node, nil
		}
	}
	return "refreshing etcd create state", r.phase(ctx, o, asked, next)
}

func (r *provisioning) phase(ctx context.Context, o *unstructured.Unstructured, asked *rkev1.ETCDSnapshotCreate, phase rkev1.ETCDSnapshotPhase) error {
	return r.change(ctx, controlPlanes, Namespace, o.GetName(), func(o map[string]any) {
		status := ranchertest.StatusOf(o)
		status["etcdSnapshotCreate"] = map[string]any{"generation": int64(asked.Generation)}
		status["etcdSnapshotCreatePhase"] = string(phase)
	}, "status")
}
