// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// status writes how far the RKEControlPlane of the given generation has come. What it waits for is said by
// its conditions; with nothing to wait for, the specification is the applied one.
func (r *provisioning) status(ctx context.Context, at *unstructured.Unstructured, waiting string) error {
	return r.change(ctx, controlPlanes, Namespace, r.Name, func(o map[string]any) {
		status := statusOf(o)
		status["observedGeneration"] = at.GetGeneration()
		status["initialized"], status["ready"], status["agentConnected"] = true, true, true
		for _, name := range []string{"Bootstrapped", "Provisioned", "Stable", "SystemUpgradeControllerReady"} {
			condition(status, name, "True", "")
		}
		if waiting == "" {
			status["appliedSpec"] = at.Object["spec"]
		}
		condition(status, "Ready", trueUnless(waiting), waiting)
		if same(status["appliedSpec"], at.Object["spec"]) { // it has been so before
			waiting = ""
		}
		condition(status, "Reconciled", trueUnless(waiting), waiting)
	}, "status")
}

// trueUnless is the status of a condition.
func trueUnless(waiting string) string {
	if waiting != "" {
		return "Unknown"
	}
	return "True"
}

// copyStatus copies the status of the RKEControlPlane to the Cluster, later.
func (r *provisioning) copyStatus(ctx context.Context, object *unstructured.Unstructured, waiting string) error {
	is := trueUnless(waiting)
	return r.change(ctx, clusters, Namespace, r.Name, func(o map[string]any) {
		status := statusOf(o)
		status["clusterName"], status["observedGeneration"] = r.ID, object.GetGeneration()
		status["ready"], status["agentDeployed"] = true, true
		status["clientSecretName"] = r.Name + "-kubeconfig"
		for _, name := range []string{"Created", "Connected", "RKECluster"} {
			condition(status, name, "True", "")
		}
		for _, name := range []string{"Provisioned", "Updated", "Ready"} {
			condition(status, name, is, waiting)
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
