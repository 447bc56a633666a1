// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// readRancher looks at Rancher's own objects, where the cluster is Rancher's. What the
// user may not see of them is withheld; it is no part of the cluster itself.
func (o *Observer) readRancher(ctx context.Context, out *observed.Observation) (err error) {
	// Every user may request this: without the right to list something, it is unknown whether there is such a resource.
	_, err = o.Do(ctx, kube.Request{What: "get the resources of rke.cattle.io", Method: http.MethodGet, Path: "/apis/rke.cattle.io/v1"})
	if kube.HasStatus(err, http.StatusNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	r := kube.Resource{Version: "rke.cattle.io/v1", Name: "rkecontrolplanes", Kind: "RKEControlPlaneList", Optional: true}
	planes, err := kube.CollectAs(ctx, o.Client, r, rollout.ReadControlPlane)
	out.ControlPlanes = lists.Map(planes, keepControlPlane)
	if len(planes) > 0 && err == nil {
		err = o.readPlans(ctx, out)
	}
	return withheld(out, err)
}

// withheld notes the rights whose lack an error tells of, and returns any other error.
func withheld(out *observed.Observation, err error) error {
	err = kube.Refusal(err)
	denied, is := errors.AsType[*kube.Denied](err)
	if !is || denied.Expired {
		return err
	}
	out.Withheld = append(out.Withheld, denied.Missing...)
	return nil
}

func keepControlPlane(c *rollout.ControlPlane) observed.ControlPlane {
	return observed.ControlPlane{
		Namespace: c.Namespace, Name: c.Name, Observed: c.Observed == c.Generation, Applied: c.Applied != nil && yamledit.Same(c.Spec, c.Applied),
		NotTrue: lists.Where([]string{"Ready", "Reconciled"}, func(name string) bool { return c.Conditions[name].Status != corev1.ConditionTrue }),
	}
}

// readPlans looks whether machines run their last plans. Of the values of their Secrets it
// keeps only whether two are the same.
func (o *Observer) readPlans(ctx context.Context, out *observed.Observation) error {
	r := kube.Resource{Version: "cluster.x-k8s.io/v1beta1", Name: "machines", Kind: "MachineList", Optional: true}
	machines, err := kube.CollectAs(ctx, o.Client, r, rollout.ReadMachine)
	if err != nil {
		return err
	}
	slices.SortFunc(machines, func(a, b rollout.Machine) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.PlanSecret, b.PlanSecret))
	})
	err = Plans(ctx, o.Client, machines)
	for _, m := range machines {
		if m.Plan != nil { // Rancher has made one
			out.MachinePlans = append(out.MachinePlans, observed.MachinePlan{Namespace: m.Namespace, Name: m.PlanSecret, Applied: m.Plan.Applied})
		}
	}
	return err
}

// Plans fills in the plans of machines, as far as they have one. Each Secret is read by its name: to
// list the Secrets of a namespace opens those of all clusters in it.
func Plans(ctx context.Context, c *kube.Client, machines []rollout.Machine) error {
	var closed sync.Map // namespaces in which Secrets may not be read
	return kube.ForEach(len(machines), func(i int) error {
		m := &machines[i]
		if _, is := closed.Load(m.Namespace); is || m.PlanSecret == "" {
			return nil
		}
		secret, err := kube.GetSecret(ctx, c, m.Namespace, m.PlanSecret)
		if kube.HasStatus(err, http.StatusForbidden) {
			closed.Store(m.Namespace, true)
		}
		m.Plan = rollout.PlanOf(m.Name, secret)
		return err
	})
}
