// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
)

// status writes how far the RKEControlPlane of the given generation has come.
func (r *provisioning) status(ctx context.Context, at *unstructured.Unstructured, waiting string) error {
	return r.change(ctx, controlPlanes, Namespace, r.Name, func(o map[string]any) {
		ranchertest.Provisioned(o, at.Object["spec"], at.GetGeneration(), waiting)
	}, "status")
}

// copyStatus copies the status of the RKEControlPlane to the Cluster, later.
func (r *provisioning) copyStatus(ctx context.Context, object *unstructured.Unstructured, waiting string) error {
	is := ranchertest.TrueUnless(waiting)
	return r.change(ctx, clusters, Namespace, r.Name, func(o map[string]any) {
		status := ranchertest.StatusOf(o)
		status["clusterName"], status["observedGeneration"] = r.ID, object.GetGeneration()
		status["ready"], status["agentDeployed"] = true, true
		status["clientSecretName"] = r.Name + "-kubeconfig"
		for _, name := range []string{"Created", "Connected", "RKECluster"} {
			ranchertest.SetCondition(status, name, "True", "")
		}
		for _, name := range []string{"Provisioned", "Updated", "Ready"} {
			ranchertest.SetCondition(status, name, is, waiting)
		}
	}, "status")
}

// isSettled reports whether nothing is left to do.
func (r *provisioning) isSettled(ctx context.Context) (bool, error) {
	_, cp, err := r.controlPlane(ctx)
	if err != nil || cp.Status.ObservedGeneration != cp.Generation || cp.Status.AppliedSpec == nil || !equality.Semantic.DeepEqual(cp.Spec, *cp.Status.AppliedSpec) {
		return false, err
	}
	for _, c := range cp.Status.Conditions {
		if c.Status != "True" {
			return false, nil
		}
	}
	return true, nil
}
