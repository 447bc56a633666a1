// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// CanaryName is that of the namespace of a canary, a Service that shows whether the cloud controllers work,
// and of the Service in it. Only objects with the mark are deleted.
const CanaryName = "rke-lm-canary"

// canaryMark is a label of both. A namespace without it is another user's.
const canaryMark = "rke-lm.io/canary"

// port is one at which nothing listens: the Service has no pods.
const port = 9

var marks = map[string]string{canaryMark: "true"}

// CanaryNamespace is the namespace of the Service.
func CanaryNamespace() any {
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": CanaryName, "labels": marks}}
}

// CanaryService is a Service of the type LoadBalancer without pods.
func CanaryService() any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"namespace": CanaryName, "name": CanaryName, "labels": marks, "annotations": map[string]string{aws.LoadBalancerInternal: "true"}},
		"spec":     corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "canary", Port: port, Protocol: corev1.ProtocolTCP}}},
	}
}

// IsCanary reports whether an object is one that a run made.
func IsCanary(raw []byte) bool {
	var o metav1.PartialObjectMetadata
	return json.Unmarshal(raw, &o) == nil && o.Labels[canaryMark] == "true"
}

// ErrForeignCanary refuses a namespace of another user.
var ErrForeignCanary = transform.NewError(transform.ExitRefused, "the cluster has a namespace "+CanaryName+" that rke-lm did not create; rename or delete it, or run without --canary-service")

// CanaryAddress returns the address of the load balancer of the Service; "" while it has none.
// It fails where another program than the cloud controllers makes the load balancer.
func CanaryAddress(raw []byte) (string, error) {
	var s corev1.Service
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", fmt.Errorf("the response is not a Service: %w", err)
	}
	if class := s.Spec.LoadBalancerClass; class != nil {
		return "", fmt.Errorf("a webhook has set loadBalancerClass %s on the canary Service, so it proves nothing about the cloud controllers; exempt the namespace %s from the webhook, or run without --canary-service", *class, CanaryName)
	}
	for _, i := range s.Status.LoadBalancer.Ingress {
		if address := cmp.Or(i.Hostname, i.IP); address != "" {
			return address, nil
		}
	}
	return "", nil
}

// sources are the names under which cloud controllers write Events, of both managers
// (k8s.io/cloud-provider/controllers).
var sources = []string{"service-controller", "route_controller", "cloud-node-controller", "cloud-node-lifecycle-controller"}

// Baseline is what a cluster had before a run. No clock is needed: what is new is what it does not have.
type Baseline struct {
	providerIDs map[node]string
	events      map[types.UID]int32 // how often each happened
}

// node is one Node: another one can have its name later.
type node struct{ name, uid string }

// NewBaseline keeps what is compared at the end.
func NewBaseline(nodes []observed.Node, events []corev1.Event) *Baseline {
	b := &Baseline{map[node]string{}, map[types.UID]int32{}}
	for _, n := range nodes {
		if n.ProviderID != "" {
			b.providerIDs[node{n.Name, n.UID}] = n.ProviderID
		}
	}
	for _, e := range failures(events) {
		b.events[e.UID] = times(e)
	}
	return b
}

// Problems reports what has happened since that must not.
func (b *Baseline) Problems(nodes []observed.Node, events []corev1.Event) []string {
	var list []string
	for _, n := range nodes {
		if was, known := b.providerIDs[node{n.Name, n.UID}]; known && was != n.ProviderID {
			list = append(list, fmt.Sprintf("the provider ID of the node %s was %s and is %q", n.Name, was, n.ProviderID))
		}
	}
	seen := map[string]bool{}
	for _, e := range failures(events) {
		if was, known := b.events[e.UID]; known && times(e) <= was {
			continue
		}
		o := e.InvolvedObject
		seen[fmt.Sprintf("%s on %s %s: %s: %s", source(e), o.Kind, strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"), e.Reason, redact.Text(e.Message))] = true
	}
	return append(list, slices.Sorted(maps.Keys(seen))...)
}

// failures are the Events with errors of cloud controllers.
func failures(events []corev1.Event) []corev1.Event {
	return lists.Where(events, func(e corev1.Event) bool {
		return e.Type == corev1.EventTypeWarning && slices.Contains(sources, source(e))
	})
}

// source is the controller that wrote an Event.
func source(e corev1.Event) string { return cmp.Or(e.Source.Component, e.ReportingController) }

// times is how often an Event happened.
func times(e corev1.Event) int32 {
	if e.Series != nil {
		return max(e.Count, e.Series.Count)
	}
	return e.Count
}
