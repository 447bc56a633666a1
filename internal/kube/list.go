// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"
)

// pageSize keeps one page of nodes, at about 15 kB each, to a few megabytes.
const pageSize = 500

// errSamePage keeps a server that goes in circles from filling the memory.
var errSamePage = errors.New("the API server returns the same page forever")

// Resource is a kind of objects of the API.
type Resource struct {
	Version   string // of its API, such as v1 or apps/v1
	Name      string // in the plural
	Namespace string // "" for all of them
	Kind      string // of the list
	Options   metav1.ListOptions
	JSONOnly  bool // a custom resource
	Optional  bool // see Request
}

// In is the resource in one namespace.
func (r Resource) In(namespace string) Resource {
	r.Namespace = namespace
	return r
}

// what says the permission to list it: "list daemonsets.apps in kube-system".
func (r Resource) what() string {
	what := "list " + r.Name
	if group, _, grouped := strings.Cut(r.Version, "/"); grouped {
		what += "." + group
	}
	if r.Namespace != "" {
		what += " in " + r.Namespace
	}
	return what
}

// Collect reads all pages of a list and keeps what keep makes of each object. Where the list
// expires between two pages client-go asks for all of it at once, so that the result is
// one state of the cluster.
func Collect[T, O any](ctx context.Context, c *Client, r Resource, keep func(*O, []T) []T) ([]T, error) {
	var kept []T
	pages := 0
	p := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		if pages++; o.Continue == "" {
			kept = nil // the first page, or all pages in the place of those that expired
		}
		query, _ := metav1.ParameterCodec.EncodeParameters(&o, schema.GroupVersion{Version: "v1"}) // which knows these options
		var list runtime.Object
		read := func(a Answer) (err error) {
			var into runtime.Object
			if r.JSONOnly {
				into = &metav1.List{}
			}
			list, err = contentOf[runtime.Object](a, r.Kind, into)
			return err
		}
		if _, err := c.Do(ctx, Request{What: r.what(), Method: http.MethodGet, Path: Path(r.Version, r.Name, r.Namespace, ""), Query: query, Optional: r.Optional, Read: read, protobuf: !r.JSONOnly}); err != nil {
			return nil, err
		}
		objects, err := meta.ExtractList(list)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			typed, is := any(object).(*O)
			if !is {
				return nil, fmt.Errorf("the answer has a %T", object)
			}
			kept = keep(typed, kept)
		}
		next := list.(metav1.ListInterface).GetContinue()
		switch {
		case next != "" && next == o.Continue:
			return nil, errSamePage
		case next != "" && pages >= c.bounds.pages:
			return nil, &TooLarge{fmt.Sprintf("more than %d pages", pages)}
		}
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
	return nil, &Unreached{r.what(), err}
}

// CollectAs reads all pages of a list of custom resources, each object with read.
func CollectAs[T any](ctx context.Context, c *Client, r Resource, read func([]byte) (T, error)) ([]T, error) {
	r.JSONOnly = true
	var wrong error
	list, err := Collect(ctx, c, r, func(raw *runtime.Unknown, kept []T) []T {
		object, err := read(raw.Raw)
		wrong = cmp.Or(wrong, err)
		return append(kept, object)
	})
	return list, cmp.Or(err, wrong)
}

// AtOnce keeps many requests quick without a storm of them.
const AtOnce = 8

// ForEach calls do with 0 to n-1, AtOnce of them at the same time, and joins their errors.
func ForEach(n int, do func(i int) error) error {
	errs := make([]error, n)
	var all errgroup.Group
	all.SetLimit(AtOnce)
	for i := range n {
		all.Go(func() error {
			errs[i] = do(i)
			return nil // the others continue
		})
	}
	_ = all.Wait()
	return Joined(errs)
}
