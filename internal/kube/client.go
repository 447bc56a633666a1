// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package kube sends requests to the API server of a cluster, directly or through a
// Rancher: client-go's transport below RoundTrippers of one idea each, and its pager.
//
// Invariant: an answer that did not arrive whole is no answer. What may pass is
// tried again until the time that the user allows ends; a refusal is returned at
// once. Nothing that a server answers is shown but its own message, redacted.
package kube

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

const (
	firstPause = 200 * time.Millisecond
	longPause  = 5 * time.Second
	// unexpectedTime is for how long something else than an API server may answer: a
	// proxy whose server restarts has a page for that, and so has a wrong address.
	unexpectedTime = 5 * time.Second
)

// retry makes a request again and again while what is wrong may pass.
type retry struct {
	tokens *tokens
	// allowed is for how long.
	allowed time.Duration
	first   *first
	// reviewed means that all rights that are needed were there.
	reviewed atomic.Bool
}

// until returns the first answer of a request, or why there is none in time.
func (r *retry) until(ctx context.Context, optional bool, try func() (Answer, error)) (Answer, error) {
	began, unexpectedEnd := time.Now(), time.Time{}
	end := began.Add(r.allowed)
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		a, err := try()
		last := r.first.last(began, end, err)
		if err == nil {
			return a, nil
		}
		if errors.As(err, new(*unexpected)) {
			if unexpectedEnd.IsZero() {
				unexpectedEnd, pause = time.Now().Add(unexpectedTime), firstPause
			}
			last = slices.MinFunc([]time.Time{last, unexpectedEnd}, time.Time.Compare)
		}
		wait, passes := r.passes(err, optional, pause)
		if ctx.Err() != nil || !passes || time.Now().Add(wait).After(last) {
			return a, err
		}
		if !Pause(ctx, wait) {
			return a, ctx.Err()
		}
	}
}

// passes reports whether an error may pass, and how long to wait. What no
// server said is the network's, which may come back; a certificate that is not
// trusted does not, nor do credentials that never were there: the program for them
// may ask a person each time. Credentials that are renewed do, and a webhook's own
// troubles; what a webhook does not take it takes at no later time either.
func (r *retry) passes(err error, optional bool, pause time.Duration) (time.Duration, bool) {
	var f *Failure
	if !errors.As(err, &f) {
		return pause, !errors.As(err, new(*TooLarge)) && !untrusted(err) && (r.tokens.given.Load() || !NoCredentials(err))
	}
	switch {
	case f.Code == http.StatusTooManyRequests, f.Code >= 500, f.Code == http.StatusNotFound && f.foreign(), f.by == byUnready:
		return max(pause, f.after), true
	case f.NotTaken():
		return 0, false
	case f.Code == http.StatusUnauthorized, f.by == byLogin:
		return pause, r.tokens.renewed || f.outdated
	case f.by == byGate:
		return pause, f.outdated
	case f.Code == http.StatusForbidden:
		return pause, r.reviewed.Load() && f.by == byAuthorizer && !optional
	}
	return 0, false
}

// first bounds the connections to a server that has not answered yet: it is more likely that its address is wrong,
// or that it is down, than that it restarts.
type first struct {
	limit time.Duration // 0 for that of all requests
	where string        // the server, for messages
	note  func(string)  // nil for none

	answered atomic.Bool
	refused  sync.Once
	began    time.Time // the first request that was refused
}

// Unconnected reports whether there was no connection; of the first one there is a note.
func Unconnected(err error) bool {
	op, is := errors.AsType[*net.OpError](err)
	return is && op.Op == "dial"
}

// last is when a request is tried last, which began and may be tried until an end, and whose result is err.
func (f *first) last(began, end time.Time, err error) time.Time {
	if !Unconnected(err) {
		f.answered.Store(true)
	}
	if f.answered.Load() {
		return end
	}
	f.refused.Do(func() {
		if f.began = began; f.note != nil {
			_, what := networkError(err)
			f.note("cannot connect to " + f.where + ": " + what + "; trying again")
		}
	})
	if f.limit > 0 {
		end = slices.MinFunc([]time.Time{end, f.began.Add(f.limit)}, time.Time.Compare)
	}
	return end
}
