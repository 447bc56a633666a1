// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"
)

// pageSize keeps one page of nodes, at about 15 kB each, to a few megabytes.
const pageSize = 500

// errSamePage keeps a server that goes in circles from filling the memory.
var errSamePage = errors.New("the API server returns the same page forever")

// CustomList is the head of a list of a custom resource, which has no protobuf.
type CustomList struct {
	metav1.ListMeta `json:"metadata"`
}

// Unmarshal is never called.
func (*CustomList) Unmarshal([]byte) error { return errNoProtobuf }

var errNoProtobuf = errors.New("custom resources have no protobuf")

// message is a type of the API that reads protobuf.
type message[T any] interface {
	*T
	Unmarshal([]byte) error
}

type listMessage[T any] interface {
	message[T]
	metav1.ListInterface
}

// Resource is a kind of objects of the API.
type Resource struct {
	What     string // for messages: "list nodes"
	Path     string // of the list
	Kind     string // of the list
	Options  metav1.ListOptions
	JSONOnly bool // a custom resource
	Optional bool // see Request
}

// Collect reads all pages of a list and keeps what keep makes of each. Where the list
// expires between two pages client-go asks for all of it at once, so that the result is
// one state of the cluster.
func Collect[T, L any, P listMessage[L]](ctx context.Context, c *Client, r Resource, keep func(P, []T) []T) ([]T, error) {
	var kept []T
	pages := 0
	p := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		if pages++; o.Continue == "" {
			kept = nil // the first page, or all pages in the place of those that expired
		}
		list, err := page[L, P](ctx, c, r, o)
		if err != nil {
			return nil, err
		}
		next := list.GetContinue()
		switch {
		case next != "" && next == o.Continue:
			return nil, errSamePage
		case next != "" && pages >= c.bounds.pages:
			return nil, &TooLarge{fmt.Sprintf("more than %d pages", pages)}
		}
		kept = keep(list, kept)
		return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{Continue: next}}, nil
	})
	p.PageSize = pageSize
	_, _, err := p.List(ctx, r.Options)
	switch {
	case err == nil:
		return kept, nil
	case errors.As(err, new(*Unreached)), errors.As(err, new(*Failure)) && !HasStatus(err, http.StatusGone):
		return nil, err
	}
	return nil, &Unreached{r.What, err}
}

// page asks for a page.
func page[L any, P listMessage[L]](ctx context.Context, c *Client, r Resource, o metav1.ListOptions) (P, error) {
	query, err := metav1.ParameterCodec.EncodeParameters(&o, schema.GroupVersion{Version: "v1"})
	if err != nil {
		return nil, err
	}
	req := Request{What: r.What, Method: http.MethodGet, Path: r.Path, Query: query, Optional: r.Optional}
	if r.JSONOnly {
		req.Accept = runtime.ContentTypeJSON
	}
	page, err := c.content(ctx, req, r.Kind)
	if err != nil {
		return nil, err
	}
	list := P(new(L))
	return list, page.decode(list, list.Unmarshal)
}
