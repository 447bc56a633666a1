// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/redact"
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

// cleanup is the finalizer by which the service controller deletes the load balancer of a Service, before the
// Service is deleted, and also after it has another type (cloud-provider service/helpers, needsCleanup).
const cleanup = "service.kubernetes.io/load-balancer-cleanup"

func wants(s *corev1.Service) bool { return s.Spec.Type == corev1.ServiceTypeLoadBalancer }

func keepService(s *corev1.Service, kept []observed.Service) []observed.Service {
	if !wants(s) && !slices.Contains(s.Finalizers, cleanup) {
		return kept
	}
	hosts := lists.Map(s.Status.LoadBalancer.Ingress, func(in corev1.LoadBalancerIngress) string { return in.Hostname + in.IP })
	out := observed.Service{Namespace: s.Namespace, Name: s.Name, Hosts: append([]string{}, hosts...), OtherController: otherController(s), Deleting: s.DeletionTimestamp != nil || !wants(s)}
	slices.Sort(out.Hosts)
	if !out.OtherController {
		out.UID = string(s.UID)
	}
	switch {
	case out.OtherController, !slices.Contains(s.Finalizers, cleanup) && out.Deleting, len(out.Hosts) > 0 && !out.Deleting:
	case s.DeletionTimestamp != nil:
		out.Asked = s.DeletionTimestamp.UTC()
	default:
		out.Asked = lastChange(&s.ObjectMeta, func(f metav1.ManagedFieldsEntry) bool { return k8s.Sets(f, "f:spec", "f:type") }) // it may have been of another type for years
	}
	return append(kept, out)
}

// otherController reports whether the service controller and the provider of AWS leave a
// Service to another controller (cloud-provider controllers/service, wantsLoadBalancer).
func otherController(s *corev1.Service) bool {
	return s.Spec.LoadBalancerClass != nil || slices.Contains([]string{"external", "nlb-ip"}, s.Annotations[aws.LoadBalancerType])
}

// written returns the newest of the times that the API server itself wrote into an
// object: when it was made, and when it last changed.
func written(m *metav1.ObjectMeta) time.Time {
	return lastChange(m, func(metav1.ManagedFieldsEntry) bool { return true })
}

// lastChange returns when an object was made, or last changed by a write that counts.
func lastChange(m *metav1.ObjectMeta, counts func(metav1.ManagedFieldsEntry) bool) time.Time {
	at := m.CreationTimestamp.Time
	for _, f := range m.ManagedFields {
		if f.Time != nil && f.Time.After(at) && counts(f) {
			at = f.Time.Time
		}
	}
	return at.UTC()
}

// serviceController is the source of the Events of both managers about load balancers
// (cloud-provider controllers/service).
const serviceController = "service-controller"

// succeeded are the reasons by which it reports that a load balancer is as a Service asks for.
var succeeded = []string{"EnsuredLoadBalancer", "UpdatedLoadBalancer", "DeletedLoadBalancer"}

// isAbout reports whether an Event is one of the service controller about a Service. One
// that was deleted may have had the same name.
func isAbout(e *corev1.Event, s observed.Service) bool {
	about, source := e.InvolvedObject, cmp.Or(e.Source.Component, e.ReportingController, serviceController)
	return about.Kind == observed.Services && about.Namespace == s.Namespace && about.Name == s.Name &&
		(about.UID == "" || s.UID == "" || string(about.UID) == s.UID) && source == serviceController
}

// failures gives each Service the newest warning about it, unless the service controller
// succeeded since.
func failures(services []observed.Service, events []corev1.Event) {
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return last(&a).Compare(last(&b)) })
	for i := range services {
		if !services[i].OtherController {
			fail(&services[i], events)
		}
	}
}

// fail gives a Service its failure. Where it has a load balancer, its changes fail since the
// first warning after a success.
func fail(s *observed.Service, events []corev1.Event) {
	var success, first time.Time
	for n := range events {
		if e := &events[n]; isAbout(e, *s) && slices.Contains(succeeded, e.Reason) {
			success = last(e)
		}
	}
	for n := range events {
		e := &events[n]
		if e.Type != corev1.EventTypeWarning || !isAbout(e, *s) || !last(e).After(success) {
			continue
		}
		s.Failure = &observed.Failure{Reason: word(e.Reason), Message: oneLine(e.Message)}
		if since := slices.MaxFunc([]time.Time{success, e.CreationTimestamp.Time}, time.Time.Compare); first.IsZero() || since.Before(first) {
			first = since
		}
	}
	if s.Failure != nil && s.Asked.IsZero() && !s.Deleting {
		s.Asked = first.UTC()
	}
}

// last is when what an Event reports happened last: when the API server wrote it, or in a dump of
// kubectl, which does not show that, by the clock of its reporter.
func last(e *corev1.Event) time.Time {
	if len(e.ManagedFields) > 0 {
		return written(&e.ObjectMeta)
	}
	at := cmp.Or(e.LastTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time)
	if e.Series != nil && e.Series.LastObservedTime.After(at) {
		at = e.Series.LastObservedTime.Time
	}
	return at
}

// oneLine is a message without secrets, and without the number that AWS gives a
// request, which is another one each time.
func oneLine(message string) string {
	text, _, _ := strings.Cut(redact.Text(message), "status code: ")
	text = strings.Join(strings.Fields(text), " ")
	return strings.TrimRight(text, " ,;")
}
