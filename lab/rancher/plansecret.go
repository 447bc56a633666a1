// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"

	"github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1/plan"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/lab/agent"
)

// limits are how often an agent tries a plan, and how many failures let Rancher call it failed; -1 for no
// limit.
type limits struct{ failures, threshold int }

// The limits that Rancher gives with plans (rancher pkg/capr/planner): ordinary ones, those of a snapshot of
// etcd, and those of the restart after it, whose two numbers UpdatePlan takes in the other order than
// assignAndCheckPlan means them.
var (
	ordinary  = limits{-1, 1}
	snapshots = limits{3, 3}
	restarts  = limits{1, -1}
)

// What has become of a plan, as Rancher says it; "" for one that the machine runs.
const (
	planWaiting = "waiting for plan to be applied"
	planFailed  = "failure while applying plan"
)

// assign gives a machine its plan, lets its agent try it, and says what has become of it.
func (r *provisioning) assign(ctx context.Context, m Machine, p plan.NodePlan, l limits) (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	secret, err := r.Server.client.CoreV1().Secrets(Namespace).Get(ctx, m.Name+"-machine-plan", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	data := secret.Data
	if !bytes.Equal(data["plan"], text) {
		data["plan"] = text
		data["max-failures"], data["failure-threshold"] = []byte(strconv.Itoa(l.failures)), []byte(strconv.Itoa(l.threshold))
		delete(data, "probe-statuses")
		return planWaiting, r.keep(ctx, secret)
	}
	if bytes.Equal(data["appliedPlan"], text) {
		return "", nil
	}
	if string(data["applied-checksum"]) == hash(text) { // the machine said so (rancher pkg/controllers/capr/plansecret)
		data["appliedPlan"] = text
		if err := r.keep(ctx, secret); err != nil {
			return "", err
		}
		return planWaiting, r.planApplied(ctx, m, true)
	}
	failed := failedPlan(data)
	if failures(data) > 0 {
		if err := r.planApplied(ctx, m, false); err != nil {
			return "", err
		}
	}
	if err := r.try(ctx, m, secret); err != nil {
		return "", err
	}
	if failed {
		return planFailed, nil
	}
	return planWaiting, nil
}

// failures are the tries of the plan that is there.
func failures(data map[string][]byte) int {
	if string(data["failed-checksum"]) != hash(data["plan"]) {
		return 0
	}
	return agent.PlanSecret(data).Count("failure-count", 0)
}

// failedPlan is what Rancher calls so: its agent may try on (rancher pkg/capr/planner, SecretToNode).
func failedPlan(data map[string][]byte) bool {
	threshold := agent.PlanSecret(data).Count("failure-threshold", 1)
	return failures(data) > 0 && threshold != -1 && failures(data) >= threshold
}

// planApplied says on a Machine whether its plan failed last.
func (r *provisioning) planApplied(ctx context.Context, m Machine, is bool) error {
	return r.change(ctx, machines, Namespace, m.Name, func(o map[string]any) {
		c := map[string]any{"type": "PlanApplied", "status": string(corev1.ConditionTrue)}
		if !is {
			c = map[string]any{"type": "PlanApplied", "status": string(corev1.ConditionFalse), "severity": "Error", "reason": "Error",
				"message": "error applying plan -- check rancher-system-agent.service logs on node for more information"}
		}
		status := ranchertest.StatusOf(o)
		list, _ := status["conditions"].([]any)
		for i, item := range list {
			if old, _ := item.(map[string]any); old["type"] == c["type"] {
				list[i] = c
				return
			}
		}
		status["conditions"] = append(list, c)
	}, "status")
}
