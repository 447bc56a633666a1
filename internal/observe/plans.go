// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

// planRef is the Secret with the plan of a machine.
type planRef struct {
	machine, namespace, name string
}

// readPlans looks whether machines run their last plans. Each Secret is read by its
// name: to list them opens the Secrets of all namespaces. Of their values it keeps only
// whether two are the same.
func (o *Observer) readPlans(ctx context.Context, out *observed.Observation) error {
	refs, err := o.planRefs(ctx)
	if err != nil {
		return err
	}
	plans := make([]*observed.MachinePlan, len(refs))
	var closed sync.Map // namespaces in which Secrets may not be read
	err = kube.ForEach(len(refs), func(i int) (err error) {
		if _, is := closed.Load(refs[i].namespace); is {
			return nil
		}
		plans[i], err = o.plan(ctx, refs[i])
		if kube.HasStatus(err, http.StatusForbidden) {
			closed.Store(refs[i].namespace, true)
		}
		return err
	})
	for _, p := range plans {
		if p != nil {
			out.MachinePlans = append(out.MachinePlans, *p)
		}
	}
	return err
}

// planRefs lists the machines of all clusters that have plans, sorted.
func (o *Observer) planRefs(ctx context.Context) ([]planRef, error) {
	r := kube.Resource{What: "list machines.cluster.x-k8s.io", Path: "/apis/cluster.x-k8s.io/v1beta1/machines", Kind: "MachineList", JSONOnly: true, Optional: true}
	var wrong error
	refs, err := kube.Collect(ctx, o.Client, r, func(raw *json.RawMessage, kept []planRef) []planRef {
		var in struct {
			metav1.ObjectMeta `json:"metadata"`
		}
		m, err := rollout.ReadMachine(*raw)
		wrong = cmp.Or(wrong, err, json.Unmarshal(*raw, &in))
		if m.PlanSecret != "" {
			kept = append(kept, planRef{m.Name, in.Namespace, m.PlanSecret})
		}
		return kept
	})
	slices.SortFunc(refs, func(a, b planRef) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	return refs, cmp.Or(err, wrong)
}

// plan reads one; nil where Rancher has made none yet.
func (o *Observer) plan(ctx context.Context, ref planRef) (*observed.MachinePlan, error) {
	secret, err := kube.GetSecret(ctx, o.Client, ref.namespace, ref.name)
	p := rollout.PlanOf(ref.machine, secret)
	if err != nil || p == nil {
		return nil, err
	}
	return &observed.MachinePlan{Namespace: ref.namespace, Name: ref.name, Applied: p.Applied}, nil
}
