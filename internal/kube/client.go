// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
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
	rest       *rest.RESTClient
	retry      *retry
	base       string // URL without a final slash
	bounds     bounds
	transport  http.RoundTripper
	config     *rest.Config
	connection Connection
}

// formats asks for protobuf, and for JSON where there is none.
const formats = runtime.ContentTypeProtobuf + ", " + runtime.ContentTypeJSON

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
	Accept      string // protobuf or JSON, unless set
	// Optional is what a caller continues without: a refusal is returned at once.
	Optional bool
}

// Do makes a request, again and again while what is wrong may pass. It fails with
// *Failure for what the server refuses, and with what the network says.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) { return c.do(ctx, r, nil) }

// Read makes a request until its answer can be read: the page of a proxy is none.
func (c *Client) Read(ctx context.Context, r Request, read func(Answer) error) error {
	_, err := c.do(ctx, r, read)
	return err
}

// Reviewed reports that the rights for all requests to come were requested and are
// there. A refusal is tried again from now on: an API server that has just started
// refuses everything until it has read its rules.
func (c *Client) Reviewed() { c.retry.reviewed.Store(true) }

// do makes a request whose answer read takes; nil takes every one.
func (c *Client) do(ctx context.Context, r Request, read func(Answer) error) (Answer, error) {
	req, err := c.request(r)
	if err != nil {
		return Answer{}, &Unreached{r.What, err}
	}
	body, err := req.Stream(call{read, r.Optional}.in(ctx))
	if err != nil {
		if f := (*Failure)(nil); errors.As(err, &f) {
			f.What, f.server = r.What, c.Address()
		}
		return Answer{}, unreached(ctx, r.What, bare(err))
	}
	return body.(*wholeBody).answer, nil
}

// request is one of client-go.
func (c *Client) request(r Request) (*rest.Request, error) {
	path, err := unescaped(r.Path)
	if err != nil {
		return nil, err
	}
	req := c.rest.Verb(r.Method).AbsPath(path)
	for key, values := range r.Query {
		for _, v := range values {
			req.Param(key, v)
		}
	}
	if r.Accept != "" {
		req.SetHeader("Accept", r.Accept)
	}
	if r.Body == nil {
		return req, nil
	}
	body, is := r.Body.([]byte)
	if !is {
		if body, err = json.Marshal(r.Body); err != nil {
			return nil, err
		}
	}
	return req.Body(body).SetHeader("Content-Type", cmp.Or(r.ContentType, runtime.ContentTypeJSON)), nil
}

// unescaped is a path as client-go takes it, which joins and escapes it: a name must not
// lead to another object.
func unescaped(path string) (string, error) {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		name, err := url.PathUnescape(s)
		if err != nil {
			return "", err
		}
		if wrong := rest.IsValidPathSegmentName(name); name != "" && len(wrong) > 0 {
			return "", fmt.Errorf("%q is no name of an object: it %s", name, strings.Join(wrong, ", "))
		}
		segments[i] = name
	}
	return strings.Join(segments, "/"), nil
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
	var secret corev1.Secret
	err := c.Get(ctx, Request{What: "get secrets in " + namespace, Method: http.MethodGet, Path: Path("v1", "secrets", namespace, name)}, "Secret", &secret)
	return Found(&secret, err)
}

// Found is what was read; nothing where it is not there.
func Found[T any](read T, err error) (T, error) {
	if err == nil {
		return read, nil
	}
	if HasStatus(err, http.StatusNotFound) {
		err = nil
	}
	return *new(T), err
}

// Config is the configuration of the client for other clients of client-go, which watch. They
// send at most so many requests per second.
func (c *Client) Config(perSecond float32) *rest.Config {
	config := rest.CopyConfig(c.config)
	config.QPS, config.Burst = perSecond, 2*int(perSecond)
	config.AcceptContentTypes, config.NegotiatedSerializer, config.WarningHandler = "", nil, nil
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &bounded{next, c.bounds.answer} })
	return config
}

// chain puts the RoundTrippers of this package over client-go's, which sends the
// credentials and unpacks answers. From there to the caller an answer is ended when it stays away,
// counted, read whole, distinguished from a refusal and from what is no answer to the request;
// then the request is returned, or made again.
//
// client-go would try again by itself what comes with a Retry-After header, ten times,
// and wait for as long as the server says. Here the time is bounded, and what has no
// such header may pass as well; so client-go never sees a refusal.
func chain(base http.RoundTripper, tokens *tokens, limit int64, retry *retry) http.RoundTripper {
	tokens.next = base
	var next http.RoundTripper = &bounded{&timely{tokens}, limit}
	retry.next = &whole{next, tokens}
	return retry
}

// call is what the RoundTrippers have to know of a request apart from the request.
type call struct {
	// read fails where an answer is none to the request.
	read func(Answer) error
	// optional means that a refusal is returned even where all rights were reviewed.
	optional bool
}

type callKey struct{}

func (c call) in(ctx context.Context) context.Context { return context.WithValue(ctx, callKey{}, c) }

func callOf(ctx context.Context) call {
	c, _ := ctx.Value(callKey{}).(call)
	return c
}

// Pause waits, or returns false when the run is to end.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
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
