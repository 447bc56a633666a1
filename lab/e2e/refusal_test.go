// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// pendingTime is for how long verify lets a Service be without a load balancer.
const pendingTime = 5 * time.Minute

// AWS refuses to make a load balancer, to delete one and to change one, to both managers. verify is silent as long as
// the Services may still get what they ask for, and then quotes what the manager received.
func TestWhyAServiceGetsNoLoadBalancerIsReported(t *testing.T) {
	s := mistake(t)
	plan := planned(t, document(t, "rke2.yaml"))
	s.rollOut(s.wanted(plan.Start[0]))
	s.makes("deleted", "changed")
	s.served()
	refused := map[string]string{"web": "CreateLoadBalancer", "deleted": "DeleteLoadBalancer", "changed": "ModifyLoadBalancerAttributes"}
	for _, action := range refused {
		s.cluster.AWS.Refuse(action, "AccessDenied", "User: arn:aws:sts::419306528174:assumed-role/cp/i-00000000000000001 is not authorized to perform: elasticloadbalancing:"+action)
	}
	s.makes("web")
	s.annotate("changed", "service.beta.kubernetes.io/aws-load-balancer-connection-idle-timeout", "90")
	s.eventually("a Service that is being deleted", func(ctx context.Context) bool {
		return s.client.CoreV1().Services(metav1.NamespaceDefault).Delete(ctx, "deleted", metav1.DeleteOptions{}) == nil
	})
	made := time.Now()
	s.until(plan, func(w agent.Wanted) agent.Wanted { return w })
	s.rollOut(at(s, plan, stages.SwitchToExternal))
	s.gate(stages.SwitchToExternal)
	if time.Since(made) < pendingTime/2 { // else the machine is slow
		s.approved(stages.SwitchToExternal)
	}
	kube.Pause(t.Context(), time.Until(made.Add(pendingTime)))
	s.quotes(refused)

	for name, action := range refused {
		s.cluster.AWS.Refuse(action, "", "")
		s.annotate(name, "example.com/touched", "allowed") // so that the controller does not wait before it tries again
	}
	s.served()
	s.approved(stages.SwitchToExternal)
	s.end("service-refused")
}

// makes creates Services of type LoadBalancer.
func (s *scenario) makes(names ...string) {
	s.Helper()
	for _, name := range names {
		assert.NilError(s, s.service(s.Context(), name))
	}
}

// quotes requires that verify finds each Service, with the action that AWS refuses.
func (s *scenario) quotes(refused map[string]string) {
	s.Helper()
	s.verifies(stages.SwitchToExternal, "why Services wait", func(v verdict) bool {
		for name, action := range refused {
			if !slices.ContainsFunc(v.Findings, func(f transform.Finding) bool {
				return strings.HasPrefix(f.Rule, "load-balancer-") && f.Severity == "error" && strings.HasSuffix(f.Path, "/"+name) && strings.Contains(f.Message, "elasticloadbalancing:"+action)
			}) {
				return false
			}
		}
		return v.code == 1
	})
}

// annotate changes a Service.
func (s *scenario) annotate(name, key, value string) {
	s.Helper()
	s.eventually("a change of "+name, func(ctx context.Context) bool {
		patch := []byte(`{"metadata":{"annotations":{"` + key + `":"` + value + `"}}}`)
		_, err := s.client.CoreV1().Services(metav1.NamespaceDefault).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err == nil || apierrors.IsNotFound(err)
	})
}
