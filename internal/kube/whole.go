// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"io"
	"net/http"

	"k8s.io/apimachinery/pkg/util/net"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// Answer is a whole answer.
type Answer struct {
	Body        []byte
	ContentType string
	Warnings    []string // what the server has to say about the request
}

// unexpected is why an answer is none to the request.
type unexpected struct{ error }

// once makes a request. It reads the answer to its end, so that one that breaks off in the middle is
// known before anyone uses it. It makes errors of refusals, and of what read takes for no answer to
// the request, such as the page of a proxy; nil takes every one.
func (c *Client) once(req *http.Request, read func(Answer) error) (Answer, error) {
	own := req.Clone(req.Context())
	own.Body, _ = req.GetBody() // which nothing has read of
	res, err := c.http.Do(own)
	if b, is := errors.AsType[*broken](err); is {
		return Answer{}, b // without the request that http.Client puts before
	}
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{body, res.Header.Get("Content-Type"), warnings(res.Header)}
	if res.StatusCode/100 != 2 {
		f := newFailure(res, a)
		f.outdated = c.retry.tokens.changed(res.Request)
		return Answer{}, f
	}
	if read != nil {
		if err := read(a); err != nil {
			return Answer{}, &unexpected{err}
		}
	}
	return a, nil
}

// warnings reads the texts of the Warning headers (RFC 7234, 5.5), which name no
// secret: they are about fields.
func warnings(h http.Header) []string {
	list, _ := net.ParseWarningHeaders(h.Values("Warning"))
	return lists.Map(list, func(w net.WarningHeader) string { return redact.Text(w.Text) })
}
