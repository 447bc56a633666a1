// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/transform/live/observation"
	"github.com/rke-lm/rke-lm/transform/redact"
)

func keepServices(list *corev1.ServiceList, kept []observation.Service) []observation.Service {
	for i := range list.Items {
		if list.Items[i].Spec.Type == corev1.ServiceTypeLoadBalancer {
			kept = append(kept, keepService(&list.Items[i]))
		}
	}
	return kept
}

func keepService(s *corev1.Service) observation.Service {
	out := observation.Service{Namespace: s.Namespace, Name: s.Name, Hosts: []string{}, Elsewhere: elsewhere(s), Deleting: s.DeletionTimestamp != nil}
	for _, in := range s.Status.LoadBalancer.Ingress {
		out.Hosts = append(out.Hosts, in.Hostname+in.IP)
	}
	slices.Sort(out.Hosts)
	if out.Pending() {
		out.UID, out.Asked = string(s.UID), asked(s)
	}
	return out
}

// typeAnnotation hands a Service to the AWS Load Balancer Controller
// (cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go, isLBExternal).
const typeAnnotation = "service.beta.kubernetes.io/aws-load-balancer-type"

// elsewhere reports whether the service controller and the provider of AWS leave a
// Service to another controller (cloud-provider controllers/service, wantsLoadBalancer).
func elsewhere(s *corev1.Service) bool {
	return s.Spec.LoadBalancerClass != nil || slices.Contains([]string{"external", "nlb-ip"}, s.Annotations[typeAnnotation])
}

// asked returns when a Service was last seen to get its type: it may have been of
// another one for years.
func asked(s *corev1.Service) time.Time { return lastChange(&s.ObjectMeta, setsType) }

func setsType(f metav1.ManagedFieldsEntry) bool {
	var fields struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	if f.FieldsV1 == nil || json.Unmarshal(f.FieldsV1.GetRawBytes(), &fields) != nil {
		return false
	}
	_, sets := fields.Spec["f:type"]
	return sets
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

// tells reports whether an Event is a warning of the service controller about a
// Service. One that was deleted may have had the same name.
func tells(e *corev1.Event, s observation.Service) bool {
	about, source := e.InvolvedObject, cmp.Or(e.Source.Component, e.ReportingController, serviceController)
	return about.Kind == observation.Services && about.Namespace == s.Namespace && about.Name == s.Name &&
		(about.UID == "" || s.UID == "" || string(about.UID) == s.UID) && e.Type == corev1.EventTypeWarning && source == serviceController
}

// failures gives each Service that is pending the newest Event about it.
func failures(services []observation.Service, events []corev1.Event) {
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return last(&a).Compare(last(&b)) })
	for i := range services {
		for n := range events {
			if services[i].Pending() && tells(&events[n], services[i]) {
				services[i].Failure = &observation.Failure{Reason: word(events[n].Reason), Message: oneLine(events[n].Message)}
			}
		}
	}
}

// last is when what an Event reports happened last, by the clock of its reporter.
func last(e *corev1.Event) time.Time {
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
