// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
)

func TestTheServiceIsInternalMarkedAndHasNoPods(t *testing.T) {
	raw, err := json.Marshal(CanaryService())
	var s corev1.Service
	assert.Mustf(t, err == nil && json.Unmarshal(raw, &s) == nil && IsCanary(raw), "%v %s", err, raw)
	assert.True(t, s.Namespace == CanaryName && s.Name == CanaryName && s.Spec.Type == corev1.ServiceTypeLoadBalancer && len(s.Spec.Selector) == 0 && s.Annotations[aws.LoadBalancerInternal] == "true", raw)
	raw, err = json.Marshal(CanaryNamespace())
	assert.True(t, err == nil && IsCanary(raw), err, raw)
	assert.True(t, !IsCanary([]byte(`{"metadata":{"name":"rke-lm-canary"}}`)) && !IsCanary([]byte(`no`)), "a namespace of another user has the mark")
}

func TestTheAddressIsThatOfTheLoadBalancer(t *testing.T) {
	for _, c := range []struct{ raw, address, fails string }{
		{`{"status":{}}`, "", ""},
		{`{"status":{"loadBalancer":{"ingress":[{}]}}}`, "", ""},
		{`{"status":{"loadBalancer":{"ingress":[{"hostname":"a.elb"}]}}}`, "a.elb", ""},
		{`{"status":{"loadBalancer":{"ingress":[{"ip":"10.0.0.1"}]}}}`, "10.0.0.1", ""},
		{`{"spec":{"loadBalancerClass":"service.k8s.aws/nlb"},"status":{"loadBalancer":{"ingress":[{"hostname":"a.elb"}]}}}`, "", "service.k8s.aws/nlb"},
		{`<html>`, "", "not a Service"},
	} {
		address, err := CanaryAddress([]byte(c.raw))
		assert.Truef(t, address == c.address && (err != nil) == (c.fails != "") && (err == nil || strings.Contains(err.Error(), c.fails)), "%s: %q %v", c.raw, address, err)
	}
}

func warning(uid string, count int32, component, message string) corev1.Event {
	return corev1.Event{
		ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}, Type: corev1.EventTypeWarning, Count: count, Reason: "SyncLoadBalancerFailed", Message: message,
		Source: corev1.EventSource{Component: component}, InvolvedObject: corev1.ObjectReference{Kind: "Service", Namespace: "shop", Name: "web"},
	}
}

func TestOnlyWhatIsNewIsAProblem(t *testing.T) {
	node := func(uid, id string) observed.Node {
		return observed.Node{Name: "n-" + uid, UID: uid, ProviderID: id}
	}
	normal, series := warning("f", 9, "service-controller", "ok"), warning("e", 1, "", "again")
	normal.Type = corev1.EventTypeNormal
	series.ReportingController = "service-controller"
	before := NewBaseline(
		[]observed.Node{node("1", "aws:///a/i-1"), node("2", ""), node("3", "aws:///a/i-3")},
		[]corev1.Event{warning("a", 3, "service-controller", "old"), warning("b", 3, "service-controller", "old"), series})
	series.Series = &corev1.EventSeries{Count: 2}
	got := before.Problems(
		[]observed.Node{node("1", "aws:///a/i-1"), node("2", "aws:///a/i-2"), node("3", "aws:///a/i-9"), node("4", "aws:///a/i-4")},
		[]corev1.Event{
			warning("a", 3, "service-controller", "old"), warning("b", 4, "service-controller", "more often, token=hunter2"),
			warning("c", 1, "route_controller", "new"), warning("d", 1, "kubelet", "not a cloud controller"), series, normal,
		})
	want := []string{
		`the provider ID of the node n-3 was aws:///a/i-3 and is "aws:///a/i-9"`,
		"route_controller on Service shop/web: SyncLoadBalancerFailed: new",
		"service-controller on Service shop/web: SyncLoadBalancerFailed: again",
		"service-controller on Service shop/web: SyncLoadBalancerFailed: more often, token=<redacted>",
	}
	assert.EqualSlices(t, got, want)
}
