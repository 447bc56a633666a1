// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kubeapi"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/observation"
)

// controlPlaneList is as much of RKEControlPlanes as tells whether they settled.
type controlPlaneList struct {
	kubeapi.CustomList
	Items []controlPlane `json:"items"`
}

type controlPlane struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              json.RawMessage `json:"spec"`
	Status            struct {
		ObservedGeneration int64              `json:"observedGeneration"`
		AppliedSpec        json.RawMessage    `json:"appliedSpec"`
		Conditions         []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// planType is the type of the Secrets that hold machine plans.
const planType = "rke.cattle.io/machine-plan"

// readRancher looks at Rancher's own objects, where the cluster is Rancher's. Of
// Secrets it keeps only whether two of their values are the same.
func (o *Observer) readRancher(ctx context.Context, out *observation.Observation) (err error) {
	if there, err := o.isRancher(ctx); !there || err != nil {
		return err
	}
	r := kubeapi.Resource{What: "list rkecontrolplanes.rke.cattle.io", Path: "/apis/rke.cattle.io/v1/rkecontrolplanes", Kind: "RKEControlPlaneList", JSONOnly: true}
	out.ControlPlanes, err = kubeapi.Collect(ctx, o.Client, r, keepControlPlanes)
	if err != nil || len(out.ControlPlanes) == 0 {
		return err
	}
	r = kubeapi.Resource{What: "list secrets", Path: "/api/v1/secrets", Kind: "SecretList", Query: url.Values{"fieldSelector": {"type=" + planType}}}
	out.MachinePlans, err = kubeapi.Collect(ctx, o.Client, r, keepPlans)
	return err
}

// isRancher asks what everybody may ask: without the right to list something, it
// cannot be told whether there is such a thing.
func (o *Observer) isRancher(ctx context.Context) (bool, error) {
	_, err := o.Do(ctx, kubeapi.Request{What: "get the resources of rke.cattle.io", Method: http.MethodGet, Path: "/apis/rke.cattle.io/v1", Accept: "application/json"})
	if kubeapi.HasStatus(err, http.StatusNotFound) {
		return false, nil
	}
	return err == nil, err
}

func keepControlPlanes(list *controlPlaneList, kept []observation.ControlPlane) []observation.ControlPlane {
	for _, c := range list.Items {
		out := observation.ControlPlane{Namespace: c.Namespace, Name: c.Name, Observed: c.Status.ObservedGeneration == c.Generation, Applied: sameJSON(c.Spec, c.Status.AppliedSpec)}
		for _, name := range []string{"Ready", "Reconciled"} {
			if !slices.ContainsFunc(c.Status.Conditions, func(k metav1.Condition) bool { return k.Type == name && k.Status == metav1.ConditionTrue }) {
				out.NotTrue = append(out.NotTrue, name)
			}
		}
		kept = append(kept, out)
	}
	return kept
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return transform.Same(x, y)
}

func keepPlans(list *corev1.SecretList, kept []observation.MachinePlan) []observation.MachinePlan {
	for i := range list.Items {
		s := &list.Items[i]
		if s.Type != planType {
			continue
		}
		kept = append(kept, observation.MachinePlan{Namespace: s.Namespace, Name: s.Name, Applied: bytes.Equal(s.Data["plan"], s.Data["appliedPlan"])})
	}
	return kept
}
