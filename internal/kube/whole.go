// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/recognizer"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes/scheme"

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

// decoder reads both forms in which an API server writes an object.
var decoder = recognizer.NewDecoder(
	protobuf.NewSerializer(scheme.Scheme, scheme.Scheme),
	json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{}),
)

// Get asks for an object of a kind that client-go knows.
func Get[T any](ctx context.Context, c *Client, r Request, kind string) (object *T, err error) {
	r.protobuf = true
	r.Read = func(a Answer) (err error) { object, err = contentOf[*T](a, kind, nil); return err }
	_, err = c.Do(ctx, r)
	return object, err
}

// Object asks for an object of a kind, and returns it as the server wrote it, in JSON.
func (c *Client) Object(ctx context.Context, r Request, kind string) (Answer, error) {
	r.Read = func(a Answer) error {
		_, err := contentOf[runtime.Object](a, kind, &runtime.Unknown{})
		return err
	}
	return c.Do(ctx, r)
}

// contentOf reads the object in an answer into one, or for nil into a new one of a type that client-go has. Anything
// else, such as the page of a proxy, is an error and not an empty list.
func contentOf[T any](a Answer, kind string, into runtime.Object) (T, error) {
	object, found, err := decoder.Decode(a.Body, &schema.GroupVersionKind{Version: "v1"}, into) // without a version its error quotes the answer
	content, is := any(object).(T)
	if found == nil || found.Kind != kind || !is && err == nil {
		err = fmt.Errorf("the answer is no %s of Kubernetes (%s)", kind, a.ContentType)
	}
	return content, err
}
