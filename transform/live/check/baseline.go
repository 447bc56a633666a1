// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/redact"
)

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
