// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/rke-lm/rke-lm/transform/redact"
)

// Client speaks to one API server.
type Client struct {
	http     *http.Client
	base     string // URL without a slash at its end
	patience time.Duration
	tokens   credentials
	pace     pace
	config   *rest.Config
	reviewed bool        // all rights that are needed were there
	heard    atomic.Bool // it was answered once, whatever the answer
	bounds   bounds      // of what it takes
}

const (
	// formats asks for protobuf, and for JSON where there is none.
	formats = "application/vnd.kubernetes.protobuf, application/json"
	// answerTime is for how long one answer may take.
	answerTime = 2 * time.Minute
	// silentTime is for how long nothing of it may come.
	silentTime = 20 * time.Second
	firstPause = 200 * time.Millisecond
	longPause  = 5 * time.Second
	// misreadTime is for how long something else than an API server may answer: a
	// proxy whose server starts anew has a page for that, and so has a wrong address.
	misreadTime = 5 * time.Second
)

// Request is one call. It may be made again when its answer got lost, so it has
// to find out by itself what an earlier try has done: a POST by a name that is
// taken, a PATCH by a test that fails.
type Request struct {
	What        string // for messages: "list nodes"
	Method      string
	Path        string // below the server's address
	Query       url.Values
	Body        []byte
	ContentType string // of the body; JSON, unless set
	Accept      string // protobuf or JSON, unless set
}

// Answer is a whole answer.
type Answer struct {
	Body        []byte
	ContentType string
	Warnings    []string // what the server has to say about the request
}

// Do makes a request, again and again while what is wrong may pass. It fails with
// *Failure for what the server refuses, and with what the network says.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	return c.try(ctx, r, func(Answer) error { return nil })
}

// Read makes a request until its answer can be read: the page of a proxy is none.
func (c *Client) Read(ctx context.Context, r Request, read func(Answer) error) error {
	_, err := c.try(ctx, r, read)
	return err
}

// try makes a request until its answer can be read.
func (c *Client) try(ctx context.Context, r Request, read func(Answer) error) (Answer, error) {
	end, misread := time.Now().Add(c.patience), time.Time{}
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		a, err := c.once(ctx, r)
		last := end
		if err == nil {
			if err = read(a); err == nil {
				return a, nil
			}
			if misread.IsZero() {
				misread, pause = time.Now().Add(misreadTime), firstPause
			}
			last = earlier(end, misread)
		}
		wait, passes := c.passing(err, pause)
		if ctx.Err() != nil || !passes || time.Now().Add(wait).After(last) {
			return Answer{}, unreached(ctx, r.What, err)
		}
		if !Pause(ctx, wait) {
			return Answer{}, unreached(ctx, r.What, ctx.Err())
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// once makes a request once and reads the whole answer.
func (c *Client) once(ctx context.Context, r Request) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	ctx, heard := listen(ctx)
	defer heard.stop()
	target := c.base + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, target, bytes.NewReader(r.Body))
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Accept", cmp.Or(r.Accept, formats))
	if r.Body != nil {
		req.Header.Set("Content-Type", cmp.Or(r.ContentType, "application/json"))
	}
	req.Header.Set("Accept-Encoding", c.pace.encoding())
	c.tokens.show(req)
	start := time.Now()
	res, err := c.http.Do(req)
	if err != nil {
		return Answer{}, silent(ctx, err)
	}
	c.heard.Store(true)
	defer res.Body.Close()
	body, err := readAll(ctx, res, heard.in(res.Body), c.largest())
	if err != nil {
		return Answer{}, silent(ctx, err)
	}
	c.pace.note(isPacked(res), len(body), time.Since(start))
	a := Answer{body, res.Header.Get("Content-Type"), warnings(res.Header)}
	if res.StatusCode/100 != 2 {
		f := newFailure(r.What, res, a)
		f.outdated = c.tokens.changed(req)
		return Answer{}, f
	}
	return a, nil
}

// passing reports whether an error may pass, and how long to wait. What no
// server said is the network's, which may come back; a certificate that is not
// trusted does not, nor do credentials that never were there: the program for them
// may ask a person each time. Credentials that somebody renews do, and a webhook's own
// troubles; what a webhook does not take it takes at no later time either.
func (c *Client) passing(err error, pause time.Duration) (time.Duration, bool) {
	var f *Failure
	if !errors.As(err, &f) {
		if endless(err) {
			return 0, false
		}
		return pause, !untrusted(err) && (c.heard.Load() || !Unidentified(err))
	}
	switch {
	case f.Status == http.StatusTooManyRequests, f.Status >= 500, f.Status == http.StatusNotFound && f.foreign(), f.by == byUnready:
		return max(pause, f.after), true
	case f.NotTaken():
		return 0, false
	case f.Status == http.StatusUnauthorized:
		return pause, c.tokens.renewed || f.outdated
	case f.by == byGate:
		return pause, f.outdated
	case f.Status == http.StatusForbidden:
		return pause, c.reviewed && f.by == byAuthorizer
	}
	return 0, false
}

// Reviewed says that the rights for all requests to come were asked for and are
// there. A refusal is tried again from now on: an API server that has just started
// refuses everything until it has read its rules.
func (c *Client) Reviewed() { c.reviewed = true }

// warnings reads the texts of the Warning headers (RFC 7234, 5.5), which name no
// secret: they are about fields.
func warnings(h http.Header) []string {
	list, _ := net.ParseWarningHeaders(h.Values("Warning"))
	var texts []string
	for _, w := range list {
		texts = append(texts, redact.Text(w.Text))
	}
	return texts
}

// retryAfter reads the header in seconds; 0 where there is none.
func retryAfter(h http.Header) time.Duration {
	s, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || s < 0 {
		return 0
	}
	return time.Duration(s) * time.Second
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
