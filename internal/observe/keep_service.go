// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/redact"
)

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
		out.Asked = lastChange(&s.ObjectMeta, setsType) // it may have been of another type for years
	}
	return append(kept, out)
}

// otherController reports whether the service controller and the provider of AWS leave a
// Service to another controller (cloud-provider controllers/service, wantsLoadBalancer).
func otherController(s *corev1.Service) bool {
	return s.Spec.LoadBalancerClass != nil || slices.Contains([]string{"external", "nlb-ip"}, s.Annotations[aws.LoadBalancerType])
}

func setsType(f metav1.ManagedFieldsEntry) bool { return k8s.Sets(f, "f:spec", "f:type") }

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
