// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/live/observation"
)

// readServices also reads why Services are pending, if some are.
func (o *Observer) readServices(ctx context.Context, out *observation.Observation) (err error) {
	r := kube.Resource{What: "list services", Path: "/api/v1/services", Kind: "ServiceList"}
	if out.Services, err = kube.Collect(ctx, o.Client, r, keepServices); err != nil {
		return err
	}
	events, err := o.warnings(ctx, pending(out.Services))
	var denied *kube.Denied
	if out.EventsDenied = errors.As(err, &denied) && !denied.Expired; out.EventsDenied {
		return nil // that a Service is pending shows all the same
	}
	failures(out.Services, events)
	return err
}

func pending(all []observation.Service) (list []observation.Service) {
	for _, s := range all {
		if s.Pending() {
			list = append(list, s)
		}
	}
	return list
}

// fewServices are asked about one by one: for every list of Events the API server
// reads all of a namespace, whatever is selected of them, and without a namespace all
// of the cluster.
const fewServices = 5

// warnings reads the Warning Events about Services. It fails with *Denied.
func (o *Observer) warnings(ctx context.Context, about []observation.Service) ([]corev1.Event, error) {
	asks := make([]func() error, len(about))
	found := make([][]corev1.Event, len(about))
	for i, s := range about {
		path := "/api/v1/namespaces/" + url.PathEscape(s.Namespace) + "/events"
		asks[i] = func() (err error) { found[i], err = o.events(ctx, path, "involvedObject.name="+s.Name); return err }
	}
	if len(about) > fewServices {
		asks = []func() error{func() (err error) { found[0], err = o.events(ctx, "/api/v1/events"); return err }}
	}
	err := atOnce(asks...)
	return slices.Concat(found...), err
}

// events reads Warning Events about Services below a path.
func (o *Observer) events(ctx context.Context, path string, more ...string) ([]corev1.Event, error) {
	return o.selected(ctx, path, append([]string{"involvedObject.kind=" + observation.Services, warned}, more...)...)
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
