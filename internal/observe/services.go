// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/live/observation"
)

// told are the Events about Services as they were read last.
type told struct {
	at     time.Time
	events []corev1.Event
	denied bool
}

// toldFor is for how long they count where every Service has its load balancer, which may fail to
// change for minutes: a run observes every few seconds, and each list costs the API server much.
const toldFor = 30 * time.Second

// readServices also reads what the service controller reports about the Services that it serves.
func (o *Observer) readServices(ctx context.Context, out *observation.Observation) (err error) {
	r := kube.Resource{What: "list services", Path: "/api/v1/services", Kind: "ServiceList"}
	if out.Services, err = kube.Collect(ctx, o.Client, r, keepServices); err != nil {
		return err
	}
	if slices.ContainsFunc(out.Services, observation.Service.Pending) || time.Since(o.told.at) >= toldFor {
		events, err := o.about(ctx, served(out.Services))
		var denied *kube.Denied
		if o.told = (told{time.Now(), events, errors.As(err, &denied) && !denied.Expired}); err != nil && !o.told.denied {
			return err
		}
	}
	out.EventsDenied = o.told.denied // that a Service is pending shows all the same
	failures(out.Services, o.told.events)
	return nil
}

func served(all []observation.Service) []observation.Service {
	return slices.DeleteFunc(slices.Clone(all), func(s observation.Service) bool {
		return s.Elsewhere || s.Deleting && s.Asked.IsZero()
	})
}

// fewServices are asked about one by one: for every list of Events the API server
// reads all of a namespace, whatever is selected of them, and without a namespace all
// of the cluster.
const fewServices = 5

// about reads the Events about Services. It fails with *Denied.
func (o *Observer) about(ctx context.Context, services []observation.Service) ([]corev1.Event, error) {
	asks := make([]func() error, len(services))
	found := make([][]corev1.Event, len(services))
	for i, s := range services {
		path := "/api/v1/namespaces/" + url.PathEscape(s.Namespace) + "/events"
		asks[i] = func() (err error) { found[i], err = o.events(ctx, path, "involvedObject.name="+s.Name); return err }
	}
	if len(services) > fewServices {
		asks = []func() error{func() (err error) { found[0], err = o.events(ctx, "/api/v1/events"); return err }}
	}
	err := atOnce(asks...)
	return slices.Concat(found...), err
}

// events reads Events about Services below a path.
func (o *Observer) events(ctx context.Context, path string, more ...string) ([]corev1.Event, error) {
	return o.selected(ctx, path, append([]string{"involvedObject.kind=" + observation.Services}, more...)...)
}

// warned selects Warning Events.
const warned = "type=" + corev1.EventTypeWarning

// Warnings reads all Warning Events of the cluster. It fails with *Denied.
func (o *Observer) Warnings(ctx context.Context) ([]corev1.Event, error) {
	events, err := o.selected(ctx, "/api/v1/events", warned)
	return events, kube.Refusal(err)
}

// selected reads the Events below a path that fields select.
func (o *Observer) selected(ctx context.Context, path string, fields ...string) ([]corev1.Event, error) {
	r := kube.Resource{What: "list events", Path: path, Kind: "EventList", Options: metav1.ListOptions{FieldSelector: strings.Join(fields, ",")}, Optional: true}
	return kube.Collect(ctx, o.Client, r, func(l *corev1.EventList, kept []corev1.Event) []corev1.Event {
		return append(kept, l.Items...)
	})
}
