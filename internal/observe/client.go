// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Client speaks to one API server.
type Client struct {
	http     *http.Client
	base     string // URL without a slash at its end
	patience time.Duration
	// Requests and Bytes count what was asked and answered.
	count counter
}

const (
	// formats asks for protobuf, and for JSON where there is none.
	formats = "application/vnd.kubernetes.protobuf, application/json"
	// answerTime is for how long one answer may take.
	answerTime = time.Minute
	firstPause = 200 * time.Millisecond
	longPause  = 5 * time.Second
)

// request is one call; it may be made again, for none of them changes what a
// second one finds, but for a POST that creates an object.
type request struct {
	what   string // for messages: "list nodes"
	method string
	path   string
	query  url.Values
	body   []byte
	accept string // formats, unless set
}

// answer is a whole answer.
type answer struct {
	body        []byte
	contentType string
}

// do makes a request, again and again while what is wrong may pass. It fails with
// *Failure for what the server refuses, and with what the network says.
func (c *Client) do(ctx context.Context, r request) (answer, error) {
	end := time.Now().Add(c.patience)
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		a, err := c.once(ctx, r)
		if err == nil {
			return a, nil
		}
		wait, passes := passing(err, pause)
		if ctx.Err() != nil || !passes || time.Now().Add(wait).After(end) {
			return answer{}, unreached(ctx, r.what, err)
		}
		if err := sleep(ctx, wait); err != nil {
			return answer{}, unreached(ctx, r.what, err)
		}
	}
}

// once makes a request once and reads the whole answer.
func (c *Client) once(ctx context.Context, r request) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Accept", formats)
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	c.count.add(len(body))
	if err != nil {
		return answer{}, err
	}
	a := answer{body, res.Header.Get("Content-Type")}
	if res.StatusCode/100 != 2 {
		return answer{}, newFailure(r.what, res, a)
	}
	return a, nil
}

// passing reports whether an error may pass, and how long to wait. What no
// server said is the network's, which may come back; a certificate that is not
// trusted does not.
func passing(err error, pause time.Duration) (time.Duration, bool) {
	var f *Failure
	if !errors.As(err, &f) {
		return pause, !untrusted(err)
	}
	if f.Status != http.StatusTooManyRequests && f.Status < 500 {
		return 0, false
	}
	return max(pause, f.after), true
}

// retryAfter reads the header in seconds; 0 where there is none.
func retryAfter(h http.Header) time.Duration {
	s, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || s < 0 {
		return 0
	}
	return time.Duration(s) * time.Second
}

// sleep waits, or returns early with the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
