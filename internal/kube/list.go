// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pageSize keeps one page of nodes, at about 15 kB each, to a few megabytes.
const pageSize = 500

var (
	// errSamePage keeps a server that goes in circles from filling the memory.
	errSamePage = errors.New("the API server returns the same page forever")
	errExpires  = errors.New("the list expires before its last page is read")
)

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
	Query    url.Values
	JSONOnly bool // a custom resource
	Cached   bool // an answer from the server's cache will do
}

// Collect reads all pages of a list and keeps what keep makes of each. When the
// list expires between two pages it begins anew, so that the result is one state
// of the cluster.
func Collect[T, L any, P listMessage[L]](ctx context.Context, c *Client, r Resource, keep func(P, []T) []T) ([]T, error) {
	var end time.Time
	for {
		kept, err := onePass(ctx, c, r, keep)
		if !HasStatus(err, http.StatusGone) || ctx.Err() != nil {
			return kept, err
		}
		switch now := time.Now(); {
		case end.IsZero():
			end = now.Add(c.patience)
		case now.After(end):
			return nil, &Unreached{r.What, fmt.Errorf("%w: %w", errExpires, err)}
		}
		if !Pause(ctx, firstPause) {
			return nil, &Unreached{r.What, ctx.Err()}
		}
	}
}

// onePass asks for each page before it reads the one before it, so that the server
// and the client work at the same time.
func onePass[T, L any, P listMessage[L]](ctx context.Context, c *Client, r Resource, keep func(P, []T) []T) ([]T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var kept []T
	token, coming := "", c.ask(ctx, r, "")
	for pages := 1; ; pages++ {
		page := <-coming
		if page.err != nil {
			return nil, page.err
		}
		next, err := continued[L, P](page.content)
		switch {
		case err != nil:
			return nil, &Unreached{r.What, err}
		case next != "" && next == token:
			return nil, &Unreached{r.What, errSamePage}
		case next != "" && pages >= c.mostPages():
			return nil, &Unreached{r.What, &TooLarge{fmt.Sprintf("more than %d pages", pages)}}
		case next != "":
			coming = c.ask(ctx, r, next)
		}
		if kept, err = read(page.content, kept, keep); err != nil {
			return nil, &Unreached{r.What, err}
		}
		if next == "" {
			return kept, nil
		}
		token = next
	}
}

// answered is the content of a page, or why there is none.
type answered struct {
	content content
	err     error
}

// ask asks for a page, and does not wait for it.
func (c *Client) ask(ctx context.Context, r Resource, token string) <-chan answered {
	coming := make(chan answered, 1)
	go func() {
		var page answered
		page.content, page.err = c.content(ctx, r.page(token), r.Kind)
		coming <- page
	}()
	return coming
}

func (r Resource) page(token string) Request {
	q := url.Values{}
	for k, v := range r.Query {
		q[k] = v
	}
	q.Set("limit", strconv.Itoa(pageSize))
	switch {
	case token != "":
		q.Set("continue", token)
	case r.Cached:
		q.Set("resourceVersion", "0")
	}
	req := Request{What: r.What, Method: http.MethodGet, Path: r.Path, Query: q}
	if r.JSONOnly {
		req.Accept = "application/json"
	}
	return req
}
