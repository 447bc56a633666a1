// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// balanced is a Service of type LoadBalancer that has none.
func balanced(namespace, name string, at time.Time) corev1.Service {
	return corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "u-1", CreationTimestamp: metav1.NewTime(at)},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
}

// warned is an Event of the service controller.
func warned(s corev1.Service, message string, at time.Time) corev1.Event {
	return corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name + "." + message[:1]},
		InvolvedObject: corev1.ObjectReference{Kind: "Service", Namespace: s.Namespace, Name: s.Name, UID: s.UID},
		Type:           corev1.EventTypeWarning, Reason: "SyncLoadBalancerFailed", Message: message,
		Source: corev1.EventSource{Component: "service-controller"}, LastTimestamp: metav1.NewTime(at),
	}
}

func TestAServiceThatIsPendingIsKeptWithItsLastWarning(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		s.Hold("kube-controller-manager", "k")
		s.Renews["kube-controller-manager"] = true
		at := time.Now().Add(-time.Hour).UTC()
		web := balanced("shop", "web", at)
		old, other, normal, former := warned(web, "a first try", at), warned(web, "z by another", at.Add(time.Hour)), warned(web, "y normal", at.Add(time.Hour)), warned(web, "x of an earlier Service", at.Add(time.Hour))
		other.Source.Component, normal.Type, former.InvolvedObject.UID = "kube-proxy", corev1.EventTypeNormal, "u-0"
		s.Services = []corev1.Service{web}
		s.Events = []corev1.Event{warned(web, "Error syncing load balancer: AccessDenied, key AKIAIOSFODNN7EXAMPLE\n\tstatus code: 403, request id: 1", at.Add(time.Minute)), old, other, normal, former}
		o := observation(t, s)
		want := []observed.Service{{
			Namespace: "shop", Name: "web", Hosts: []string{}, UID: "u-1", Asked: at,
			Failure: &observed.Failure{Reason: "SyncLoadBalancerFailed", Message: "Error syncing load balancer: AccessDenied, key <redacted>"},
		}}
		assert.DeepEqual(t, o.Services, want)
		got := o.Services[0].For(o.Clock)
		assert.Truef(t, got >= time.Hour-time.Minute && got <= time.Hour, "pending for %s", got)
	})
}

// reported is an Event of the service controller that the API server wrote at a time.
func reported(s corev1.Service, kind, reason string, made, at time.Time) corev1.Event {
	e := warned(s, reason, at.Add(24*time.Hour)) // the clock of its reporter is fast
	e.Type, e.Reason, e.CreationTimestamp = kind, reason, metav1.NewTime(made)
	e.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Time: new(metav1.NewTime(at))}}
	return e
}

func TestChangesOfALoadBalancerFailSinceTheFirstWarningAfterASuccess(t *testing.T) {
	begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of a bubble
	minute := func(n int) time.Time { return begin.Add(time.Duration(n) * time.Minute) }
	served := balanced("shop", "web", begin.Add(-1000*time.Hour))
	served.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "a.elb.amazonaws.com"}}
	warning := func(reason string, made, at int) corev1.Event {
		return reported(served, corev1.EventTypeWarning, reason, minute(made), minute(at))
	}
	success := func(reason string, at int) corev1.Event {
		return reported(served, corev1.EventTypeNormal, reason, minute(-60), minute(at))
	}
	for name, c := range map[string]struct {
		events []corev1.Event
		since  time.Time // zero for no failure
		reason string
	}{
		"only warnings":                  {[]corev1.Event{warning("UpdateLoadBalancerFailed", -9, -2), warning("SyncLoadBalancerFailed", -7, -1)}, minute(-9), "SyncLoadBalancerFailed"},
		"a success after them":           {[]corev1.Event{warning("SyncLoadBalancerFailed", -9, -2), success("EnsuredLoadBalancer", -1)}, time.Time{}, ""},
		"a success in the same second":   {[]corev1.Event{warning("UnAvailableLoadBalancer", -9, -2), success("EnsuredLoadBalancer", -2)}, time.Time{}, ""},
		"a success between them":         {[]corev1.Event{warning("UpdateLoadBalancerFailed", -9, -1), success("UpdatedLoadBalancer", -5)}, minute(-5), "UpdateLoadBalancerFailed"},
		"an attempt is no success":       {[]corev1.Event{warning("SyncLoadBalancerFailed", -9, -2), success("EnsuringLoadBalancer", -1)}, minute(-9), "SyncLoadBalancerFailed"},
		"no Events, as after an hour":    {nil, time.Time{}, ""},
		"the order of the list is other": {[]corev1.Event{success("EnsuredLoadBalancer", -8), warning("SyncLoadBalancerFailed", -6, -1), warning("SyncLoadBalancerFailed", -7, -3)}, minute(-7), "SyncLoadBalancerFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
				s.Services, s.Events = []corev1.Service{served}, c.events
				got := observation(t, s).Services[0]
				fails := !c.since.IsZero()
				assert.Must(t, (got.Failure != nil) == fails && got.Stale() == fails, got)
				assert.Truef(t, !fails || got.Failure.Reason == c.reason && got.Asked.Equal(c.since), "%+v, failure %+v", got, got.Failure)
			})
		})
	}
}

func TestALoadBalancerIsToBeDeletedWhileItsFinalizerIsThere(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		made, at := time.Now().Add(-1000*time.Hour).UTC(), time.Now().Add(-time.Hour).UTC()
		deleted, done, typed, other := balanced("shop", "deleted", made), balanced("shop", "done", made), balanced("shop", "typed", made), balanced("shop", "other", made)
		deleted.Finalizers, typed.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"}, []string{"service.kubernetes.io/load-balancer-cleanup"}
		done.Finalizers = []string{"foregroundDeletion"}
		deleted.DeletionTimestamp, done.DeletionTimestamp = new(metav1.NewTime(at)), new(metav1.NewTime(at))
		typed.Spec.Type, other.Spec.Type = corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort
		typed.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Time: new(metav1.NewTime(at)), FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:type":{}}}`)}}}
		s.Services = []corev1.Service{deleted, done, typed, other}
		got := observation(t, s).Services
		want := []observed.Service{
			{Namespace: "shop", Name: "deleted", Hosts: []string{}, UID: "u-1", Deleting: true, Asked: at},
			{Namespace: "shop", Name: "done", Hosts: []string{}, UID: "u-1", Deleting: true},
			{Namespace: "shop", Name: "typed", Hosts: []string{}, UID: "u-1", Deleting: true, Asked: at},
		}
		assert.DeepEqual(t, got, want)
		assert.True(t, got[0].Stale() && !got[1].Stale() && got[2].Stale(), got)
	})
}

// A run observes a cluster every few seconds.
func TestEventsAboutServedServicesAreReadTwiceAMinute(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		served := balanced("shop", "web", time.Now())
		served.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "a.elb.amazonaws.com"}}
		s.Services = []corev1.Service{served}
		ob := observer(t, s, time.Minute)
		for range 30 {
			_, err := ob.Observe(t.Context())
			assert.NilError(t, err)
			time.Sleep(2 * time.Second)
		}
		assert.Equal(t, s.Count("/events"), 2, "lists of events in a minute")
		s.Fault = always("/events", apitest.Fault{Status: http.StatusNotFound})
		for range 2 { // what was not read is no answer
			_, err := ob.Observe(t.Context())
			assert.True(t, err != nil, "the cluster was observed without its Events")
		}
	})
}

// A Service may have been of another type for years.
func TestAServiceAsksForALoadBalancerWhenItGetsItsType(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		made, typed := time.Now().Add(-1000*time.Hour).UTC(), time.Now().Add(-time.Hour).UTC()
		web := balanced("shop", "web", made)
		entry := func(at time.Time, fields string) metav1.ManagedFieldsEntry {
			return metav1.ManagedFieldsEntry{Manager: "m", Time: &metav1.Time{Time: at}, FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)}}
		}
		web.ManagedFields = []metav1.ManagedFieldsEntry{
			entry(typed, `{"f:spec":{"f:type":{}}}`),
			entry(typed.Add(time.Minute), `{"f:metadata":{"f:finalizers":{".":{}}}}`),
			{Manager: "none"},
		}
		s.Services = []corev1.Service{web}
		o := observation(t, s)
		assert.Truef(t, o.Services[0].Asked.Equal(typed), "asked at %s, not %s", o.Services[0].Asked, typed)
	})
}

func TestEventsAreReadOnlyWhereTheCloudControllersServeAService(t *testing.T) {
	class, external := balanced("shop", "class", time.Now()), balanced("shop", "external", time.Now())
	class.Spec.LoadBalancerClass = new("service.k8s.aws/nlb")
	external.Annotations = map[string]string{"service.beta.kubernetes.io/aws-load-balancer-type": "external"}
	ip := balanced("shop", "ip", time.Now())
	ip.Annotations = map[string]string{"service.beta.kubernetes.io/aws-load-balancer-type": "nlb-ip"}
	removed := balanced("shop", "gone", time.Now())
	removed.DeletionTimestamp = new(metav1.Now())
	served := balanced("shop", "served", time.Now())
	served.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "a.elb.amazonaws.com"}}
	nlb := balanced("shop", "nlb", time.Now())
	nlb.Annotations = map[string]string{"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}
	for name, c := range map[string]struct {
		services []corev1.Service
		lists    int
	}{
		"none":                    {nil, 0},
		"of others, and deleted":  {[]corev1.Service{class, external, ip, removed}, 0},
		"served, and others":      {[]corev1.Service{class, served}, 1},
		"a network load balancer": {[]corev1.Service{nlb}, 1},
		"many":                    {many(40), 1},
	} {
		t.Run(name, func(t *testing.T) {
			onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
				s.Services = c.services
				o := observation(t, s)
				assert.Equal(t, s.Count("/events"), c.lists, o.Services)
				for _, r := range s.Requests {
					f := r.URL.Query().Get("fieldSelector")
					assert.Truef(t, !strings.HasSuffix(r.URL.Path, "/events") || f == "involvedObject.kind=Service", "%s selects %q", r.URL.Path, f)
				}
			})
		})
	}
}

func many(n int) (list []corev1.Service) {
	for i := range n {
		list = append(list, balanced("shop", fmt.Sprint("web-", i), time.Now()))
	}
	return list
}

func TestWithoutThePermissionForEventsTheRestIsSeen(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		s.Services = []corev1.Service{balanced("shop", "web", time.Now())}
		s.Fault = always("/events", apitest.Fault{Status: http.StatusForbidden, Body: `{"kind":"Status","apiVersion":"v1","code":403,"message":"events is forbidden: User \"u\" cannot list resource \"events\""}`})
		o := observation(t, s)
		assert.True(t, o.EventsDenied && len(o.Services) == 1 && o.Services[0].Failure == nil, o.Services)
	})
}

const pendingJSON = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"shop","uid":"u-1","creationTimestamp":"2025-03-09T08:00:00Z"},"spec":{"type":"LoadBalancer"},"status":{"loadBalancer":{}}}`

func TestADumpIsDatedByWhatTheAPIServerWrote(t *testing.T) {
	o := assert.Value(dumped(t, list(pendingJSON,
		`{"apiVersion":"v1","kind":"Event","metadata":{"name":"web.1","namespace":"shop","uid":"u-2","creationTimestamp":"2025-03-11T08:00:00Z"},"involvedObject":{"kind":"Service","name":"web","namespace":"shop","uid":"u-1"},"type":"Warning","reason":"SyncLoadBalancerFailed","message":"m","lastTimestamp":"2039-01-01T00:00:00Z"}`)))(t)
	got := o.Services[0].For(o.Clock)
	assert.Truef(t, got == 48*time.Hour && o.Services[0].Failure != nil && o.Saw(observed.Events), "%s, %+v", got, o.Services[0])
}

// Snapshots are read by other versions, strictly.
func TestASnapshotHoldsOfAServiceItsLoadBalancerAlone(t *testing.T) {
	o := observed.Observation{Services: []observed.Service{{Namespace: "shop", Name: "web", Hosts: []string{}, UID: "u-1", Asked: time.Now(), Failure: &observed.Failure{}}}}
	assert.DeepEqual(t, o.Snapshot("").LoadBalancers, []observed.Service{{Namespace: "shop", Name: "web", Hosts: []string{}}})
}
