// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// Client speaks to one API server.
type Client struct {
	http   *http.Client
	retry  *retry
	base   string // URL without a final slash
	bounds bounds
	config *rest.Config
}

// Request is one call. It may be made again when its answer got lost, so it has
// to find out by itself what an earlier try has done: a POST by a name that is
// taken, a PATCH by a test that fails.
type Request struct {
	What        string // for messages: "list nodes"
	Method      string
	Path        string // below the server's address, its segments escaped
	Query       url.Values
	Body        any    // bytes, or an object that is sent as JSON; nil for none
	ContentType string // of the body; JSON, unless set
	// Optional is what a caller continues without: a refusal is returned at once.
	Optional bool
	// Read reads the answer, and fails for one that is none to the request, such as the page of a proxy: it is
	// made again. Nil takes every answer.
	Read func(Answer) error

	protobuf bool // is asked for where there is one, and JSON else
}

// Do makes a request, again and again while what is wrong may pass. It fails with
// *Failure for what the server refuses, and with what the network says.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	req, err := c.request(ctx, r)
	if err != nil {
		return Answer{}, &Unreached{r.What, err}
	}
	a, err := c.retry.until(ctx, r.Optional, func() (Answer, error) { return c.once(req, r.Read) })
	if err != nil {
		if f := (*Failure)(nil); errors.As(err, &f) {
			f.What, f.server = r.What, c.Address()
		}
		return Answer{}, unreached(ctx, r.What, err)
	}
	return a, nil
}

// Reviewed reports that the rights for all requests to come were requested and are
// there. A refusal is tried again from now on: an API server that has just started
// refuses everything until it has read its rules.
func (c *Client) Reviewed() { c.retry.reviewed.Store(true) }

// request is one of HTTP.
func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	body, is := r.Body.([]byte)
	if !is && r.Body != nil {
		var err error
		if body, err = json.Marshal(r.Body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, c.base+r.Path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.URL.RawQuery = r.Query.Encode()
	req.Header.Set("Accept", runtime.ContentTypeJSON)
	if r.protobuf {
		req.Header.Set("Accept", runtime.ContentTypeProtobuf+", "+runtime.ContentTypeJSON)
	}
	if r.Body != nil {
		req.Header.Set("Content-Type", cmp.Or(r.ContentType, runtime.ContentTypeJSON))
	}
	return req, named(r.Path)
}

// named fails for a path with a name that would lead to another object.
func named(path string) error {
	for segment := range strings.SplitSeq(path, "/") {
		name, _ := url.PathUnescape(segment) // of a URL that was parsed
		if wrong := rest.IsValidPathSegmentName(name); name != "" && len(wrong) > 0 {
			return fmt.Errorf("%q is no name of an object: it %s", name, strings.Join(wrong, ", "))
		}
	}
	return nil
}

// Path is where an API server has a resource of a version, such as v1 or apps/v1: in one namespace, or in
// all of them if none is named, and the object with a name, if one is.
func Path(version, resource, namespace, name string) string {
	path := "/apis/" + version
	if !strings.Contains(version, "/") {
		path = "/api/" + version
	}
	if namespace != "" {
		path += "/namespaces/" + url.PathEscape(namespace)
	}
	if path += "/" + resource; name != "" {
		path += "/" + url.PathEscape(name)
	}
	return path
}

// GetSecret reads one Secret by its name; nil where it is not there.
func GetSecret(ctx context.Context, c *Client, namespace, name string) (*corev1.Secret, error) {
	return Found(Get[corev1.Secret](ctx, c, Request{What: "get secrets in " + namespace, Method: http.MethodGet, Path: Path("v1", "secrets", namespace, name)}, "Secret"))
}

// Found is what was read; nothing where it is not there.
func Found[T any](read T, err error) (T, error) {
	if HasStatus(err, http.StatusNotFound) {
		return *new(T), nil
	}
	return read, err
}

// Config is the configuration of the client for other clients of client-go, which watch. They
// send at most so many requests per second.
func (c *Client) Config(perSecond float32) *rest.Config {
	config := rest.CopyConfig(c.config)
	config.QPS, config.Burst = perSecond, 2*int(perSecond)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &limitedBody{next, c.bounds.answer} })
	return config
}

// Pause waits, or returns false when the run is to end.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

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
	_, err := c.Do(ctx, Request{What: "create events", Method: http.MethodPost, Path: Path("v1", "events", e.Namespace, ""), Body: e})
	if Exists(err) {
		return nil
	}
	return err
}
