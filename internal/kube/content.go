// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/recognizer"
	"k8s.io/client-go/kubernetes/scheme"
)

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
