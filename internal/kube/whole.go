// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"

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

// broken says why what came is no answer.
type broken struct{ err error }

func (b *broken) Error() string { return b.err.Error() }
func (b *broken) Unwrap() error { return b.err }

// whole reads an answer to its end, so that one that breaks off in the middle is known before anyone
// uses it. It makes errors of refusals, of redirects too, for the credentials are for one server, and
// of what is no answer to the request, such as the page of a proxy.
type whole struct {
	next   http.RoundTripper
	tokens *tokens
}

func (w *whole) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := w.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, &broken{err}
	}
	answer := Answer{body, res.Header.Get("Content-Type"), warnings(res.Header)}
	if res.StatusCode/100 != 2 {
		f := newFailure(res, answer)
		f.outdated = w.tokens.changed(res.Request)
		return nil, f
	}
	if read := callOf(req.Context()).read; read != nil {
		if err := read(answer); err != nil {
			return nil, &unexpected{broken{err}}
		}
	}
	res.Body = &wholeBody{bytes.NewReader(body), answer}
	return res, nil
}

// wholeBody passes the bytes on without a copy.
type wholeBody struct {
	*bytes.Reader
	answer Answer
}

// Close implements io.Closer.
func (*wholeBody) Close() error { return nil }

// unexpected is why an answer is none to the request.
type unexpected struct{ broken }

// bare takes off what http.Client puts before all errors of RoundTrippers, the method
// and the address, where the error is about an answer.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) && (errors.As(err, new(*Failure)) || errors.As(err, new(*broken)) || errors.As(err, new(*unexpected))) {
		return u.Err
	}
	return err
}

// warnings reads the texts of the Warning headers (RFC 7234, 5.5), which name no
// secret: they are about fields.
func warnings(h http.Header) []string {
	list, _ := net.ParseWarningHeaders(h.Values("Warning"))
	return lists.Map(list, func(w net.WarningHeader) string { return redact.Text(w.Text) })
}
