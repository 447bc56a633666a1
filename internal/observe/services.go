// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// serviceEvents are the Events about Services as they were read last. They count for a while: a run observes
// every few seconds, and for each list the API server reads all Events of the cluster.
type serviceEvents struct {
	at     time.Time
	events []corev1.Event
	denied bool
}

const eventsFor = 30 * time.Second

// readServices also reads what the service controller reports about the Services that it serves.
func (o *Observer) readServices(ctx context.Context, out *observed.Observation) error {
	if err := services.read(o)(ctx, out); err != nil {
		return err
	}
	if slices.ContainsFunc(out.Services, served) && time.Since(o.lastEvents.at) >= eventsFor {
		events, err := o.events(ctx, "involvedObject.kind="+observed.Services)
		denied := kube.Lacks(err)
		if err != nil && !denied {
			return err
		}
		o.lastEvents = serviceEvents{time.Now(), events, denied}
	}
	out.EventsDenied = o.lastEvents.denied // that a Service is pending shows all the same
	failures(out.Services, o.lastEvents.events)
	return nil
}

// served reports whether the service controller has something to do for a Service, or may fail to.
func served(s observed.Service) bool { return !s.OtherController && (!s.Deleting || s.Stale()) }

// Warnings reads all Warning Events of the cluster. It fails with *Denied.
func (o *Observer) Warnings(ctx context.Context) ([]corev1.Event, error) {
	return o.events(ctx, "type="+corev1.EventTypeWarning)
}

// events reads the Events of the cluster that a field selects. It fails with *Denied.
func (o *Observer) events(ctx context.Context, field string) ([]corev1.Event, error) {
	r := kube.Resource{Version: "v1", Name: "events", Kind: "EventList", Options: metav1.ListOptions{FieldSelector: field}, Optional: true}
	events, err := kube.Collect(ctx, o.Client, r, func(e *corev1.Event, kept []corev1.Event) []corev1.Event { return append(kept, *e) })
	return events, kube.Refusal(err)
}
