// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// controlPlane is as much of an RKEControlPlane as shows whether it settled.
type controlPlane struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              json.RawMessage `json:"spec"`
	Status            struct {
		ObservedGeneration int64                               `json:"observedGeneration"`
		AppliedSpec        json.RawMessage                     `json:"appliedSpec"`
		Conditions         []genericcondition.GenericCondition `json:"conditions"`
	} `json:"status"`
}

// readRancher looks at Rancher's own objects, where the cluster is Rancher's. What the
// user may not see of them is withheld; it is no part of the cluster itself.
func (o *Observer) readRancher(ctx context.Context, out *observed.Observation) (err error) {
	if there, err := o.isRancher(ctx); !there || err != nil {
		return err
	}
	r := kube.Resource{What: "list rkecontrolplanes.rke.cattle.io", Path: "/apis/rke.cattle.io/v1/rkecontrolplanes", Kind: "RKEControlPlaneList", JSONOnly: true, Optional: true}
	out.ControlPlanes, err = kube.Collect(ctx, o.Client, r, keepControlPlane)
	if err != nil || len(out.ControlPlanes) == 0 {
		return withheld(out, err)
	}
	return withheld(out, o.readPlans(ctx, out))
}

// withheld notes the rights whose lack an error tells of, and returns any other error.
func withheld(out *observed.Observation, err error) error {
	err = kube.Refusal(err)
	var denied *kube.Denied
	if !errors.As(err, &denied) || denied.Expired {
		return err
	}
	out.Withheld = append(out.Withheld, denied.Missing...)
	return nil
}

// isRancher requests what every user may request: without the right to list something, it
// unknown whether there is such a resource.
func (o *Observer) isRancher(ctx context.Context) (bool, error) {
	_, err := o.Do(ctx, kube.Request{What: "get the resources of rke.cattle.io", Method: http.MethodGet, Path: "/apis/rke.cattle.io/v1", Accept: "application/json"})
	if kube.HasStatus(err, http.StatusNotFound) {
		return false, nil
	}
	return err == nil, err
}

func keepControlPlane(c *controlPlane, kept []observed.ControlPlane) []observed.ControlPlane {
	out := observed.ControlPlane{Namespace: c.Namespace, Name: c.Name, Observed: c.Status.ObservedGeneration == c.Generation, Applied: sameJSON(c.Spec, c.Status.AppliedSpec)}
	for _, name := range []string{"Ready", "Reconciled"} {
		if !slices.ContainsFunc(c.Status.Conditions, func(k genericcondition.GenericCondition) bool {
			return k.Type == name && k.Status == corev1.ConditionTrue
		}) {
			out.NotTrue = append(out.NotTrue, name)
		}
	}
	return append(kept, out)
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return transform.Same(x, y)
}
