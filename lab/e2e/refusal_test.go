// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// pendingTime is for how long verify lets a Service be without a load balancer.
const pendingTime = 5 * time.Minute

// AWS refuses a load balancer to both managers. verify is silent as long as the Service may still get one, and
// then quotes what the manager received.
func TestWhyAServiceGetsNoLoadBalancerIsReported(t *testing.T) {
	s := mistake(t)
	plan := planned(t, document(t, "rke2.yaml"))
	s.cluster.AWS.Refuse("CreateLoadBalancer", "AccessDenied", "User: arn:aws:sts::419306528174:assumed-role/cp/i-00000000000000001 is not authorized to perform: elasticloadbalancing:CreateLoadBalancer")
	s.rollOut(s.wanted(plan.Start[0]))
	if err := s.service(t.Context(), "web"); err != nil {
		t.Fatal(err)
	}
	made := time.Now()
	s.until(plan, func(w agent.Wanted) agent.Wanted { return w })
	s.rollOut(at(s, plan, stages.SwitchToExternal))
	s.gate(stages.SwitchToExternal)
	if time.Since(made) < pendingTime/2 { // else the machine is slow
		s.approved(stages.SwitchToExternal)
	}
	kube.Pause(t.Context(), time.Until(made.Add(pendingTime)))
	s.pends("elasticloadbalancing:CreateLoadBalancer")

	s.cluster.AWS.Refuse("CreateLoadBalancer", "", "")
	s.touch("web", "allowed")
	s.served()
	s.approved(stages.SwitchToExternal)
	s.end("service-refused")
}

// pends requires that verify finds the Service, with the reason.
func (s *scenario) pends(reason string) {
	s.Helper()
	s.verifies(stages.SwitchToExternal, "that the Service is pending: "+reason, func(v verdict) bool {
		return v.code == 1 && slices.ContainsFunc(v.Findings, func(f transform.Finding) bool {
			return f.Rule == "load-balancer-pending" && f.Severity == "error" && strings.Contains(f.Message, reason)
		})
	})
}

// touch changes a Service, so that its controller does not wait before it tries again.
func (s *scenario) touch(name, value string) {
	s.Helper()
	s.eventually("a change of "+name, func(ctx context.Context) bool {
		patch := []byte(`{"metadata":{"annotations":{"example.com/touched":"` + value + `"}}}`)
		_, err := s.client.CoreV1().Services(metav1.NamespaceDefault).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err == nil
	})
}
