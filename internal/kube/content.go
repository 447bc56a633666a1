// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// magic begins every protobuf answer (k8s.io/apimachinery/pkg/runtime/serializer/protobuf).
var magic = []byte("k8s\x00")

// content is an object of a known kind, in protobuf or JSON.
type content struct {
	raw      []byte
	protobuf bool
	kind     schema.GroupVersionKind // in protobuf
}

// Get asks for an object of a kind.
func Get[T any](ctx context.Context, c *Client, r Request, kind string) (*T, error) {
	r.protobuf = true
	into := new(T)
	o, err := c.content(ctx, r, kind)
	if err != nil {
		return into, err
	}
	if err := o.decode(into); err != nil {
		return into, &Unreached{r.What, err}
	}
	return into, nil
}

// Object asks for an object of a kind, and returns it as the server wrote it, in JSON.
func (c *Client) Object(ctx context.Context, r Request, kind string) (Answer, error) {
	r.Read = func(a Answer) error { _, err := contentOf(a, kind); return err }
	return c.Do(ctx, r)
}

// content makes a request until it is answered with an object of the kind.
func (c *Client) content(ctx context.Context, r Request, kind string) (o content, err error) {
	r.Read = func(a Answer) (err error) { o, err = contentOf(a, kind); return err }
	_, err = c.Do(ctx, r)
	return o, err
}

func (o content) decode(into any) error {
	if o.protobuf {
		return into.(interface{ Unmarshal([]byte) error }).Unmarshal(o.raw)
	}
	return json.Unmarshal(o.raw, into)
}

// contentOf returns the object in an answer; anything else, such as the page of a
// proxy, is an error and not an empty list.
func contentOf(a Answer, kind string) (content, error) {
	if envelope, is := bytes.CutPrefix(a.Body, magic); is {
		var u runtime.Unknown
		if err := u.Unmarshal(envelope); err != nil {
			return content{}, fmt.Errorf("the answer is no protobuf of Kubernetes: %w", err)
		}
		if u.Kind != kind {
			return content{}, fmt.Errorf("the answer is a %q and not a %s", u.Kind, kind)
		}
		return content{u.Raw, true, u.GroupVersionKind()}, nil
	}
	var head metav1.TypeMeta
	if err := json.Unmarshal(a.Body, &head); err != nil || head.Kind != kind {
		return content{}, fmt.Errorf("the answer is no %s of Kubernetes (%s)", kind, a.ContentType)
	}
	return content{raw: a.Body}, nil
}
