// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Program is how API servers call this program: the field manager of what it writes, and the
// component of its Events.
const Program = "rke-lm"

// mostOfEvent is what is kept of an Event's message, which may have 1024 bytes.
const mostOfEvent = 1000

// CreateEvent creates an Event that happened once, in the namespace of the object that it is
// about. It has the name of its ID, so that there is one however often it is sent.
func (c *Client) CreateEvent(ctx context.Context, id string, e corev1.Event) error {
	e.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}
	e.Namespace = cmp.Or(e.InvolvedObject.Namespace, metav1.NamespaceDefault) // of objects without one
	e.Name, e.Source.Component = Program+"."+id, Program
	e.Message = strings.ToValidUTF8(e.Message[:min(len(e.Message), mostOfEvent)], "")
	e.LastTimestamp, e.Count = e.FirstTimestamp, 1
	_, err := c.Do(ctx, Request{What: "create events", Method: http.MethodPost, Path: "/api/v1/namespaces/" + url.PathEscape(e.Namespace) + "/events", Body: e})
	if Exists(err) {
		return nil
	}
	return err
}
