// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// controllers are the names under which cloud controllers write Events, of both managers
// (k8s.io/cloud-provider/controllers).
var controllers = []string{"service-controller", "route_controller", "cloud-node-controller", "cloud-node-lifecycle-controller"}

// Before is what a cluster had before a run.
type Before struct {
	providerIDs map[node]string
	events      map[types.UID]int32 // how often each happened
}

// node is one Node: another one can have its name later.
type node struct{ name, uid string }

// NewBefore keeps what is compared at the end.
func NewBefore(nodes []observed.Node, events []corev1.Event) *Before {
	b := &Before{map[node]string{}, map[types.UID]int32{}}
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
func (b *Before) Problems(nodes []observed.Node, events []corev1.Event) []string {
	var list []string
	for _, n := range nodes {
		if was, known := b.providerIDs[node{n.Name, n.UID}]; known && was != n.ProviderID {
			list = append(list, fmt.Sprintf("the provider ID of the node %s was %s and is %q", n.Name, was, n.ProviderID))
		}
	}
	said := map[string]bool{}
	for _, e := range failures(events) {
		if was, known := b.events[e.UID]; known && times(e) <= was {
			continue
		}
		o := e.InvolvedObject
		said[fmt.Sprintf("%s on %s %s: %s: %s", source(e), o.Kind, path(o), e.Reason, redact.Text(e.Message))] = true
	}
	return append(list, slices.Sorted(maps.Keys(said))...)
}

// failures are the Events with errors of cloud controllers.
func failures(events []corev1.Event) []corev1.Event {
	var list []corev1.Event
	for _, e := range events {
		if e.Type == corev1.EventTypeWarning && slices.Contains(controllers, source(e)) {
			list = append(list, e)
		}
	}
	return list
}

// source is the controller that wrote an Event.
func source(e corev1.Event) string {
	return cmp.Or(e.Source.Component, e.ReportingController)
}

// times is how often an Event happened.
func times(e corev1.Event) int32 {
	if e.Series != nil {
		return max(e.Count, e.Series.Count)
	}
	return e.Count
}

func path(o corev1.ObjectReference) string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}
