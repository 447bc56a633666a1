// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// pageSize keeps one page of nodes, at about 15 kB each, to a few megabytes.
const pageSize = 500

// magic begins every protobuf answer (k8s.io/apimachinery/pkg/runtime/serializer/protobuf).
var magic = []byte("k8s\x00")

// errSamePage keeps a server that goes in circles from filling the memory.
var errSamePage = errors.New("the API server answers with the same page for ever")

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
// list changes too much between two pages it begins anew, so that the result is
// one state of the cluster.
func Collect[T, L any, P listMessage[L]](ctx context.Context, c *Client, r Resource, keep func(P, []T) []T) ([]T, error) {
	for {
		kept, err := onePass(ctx, c, r, keep)
		if HasStatus(err, http.StatusGone) && ctx.Err() == nil {
			continue
		}
		return kept, err
	}
}

func onePass[T, L any, P listMessage[L]](ctx context.Context, c *Client, r Resource, keep func(P, []T) []T) ([]T, error) {
	var kept []T
	for token := ""; ; {
		page := P(new(L))
		if err := Get(ctx, c, r.page(token), r.Kind, page, page.Unmarshal); err != nil {
			return nil, err
		}
		kept = keep(page, kept)
		next := page.GetContinue()
		switch next {
		case "":
			return kept, nil
		case token:
			return nil, &Unreached{r.What, errSamePage}
		}
		token = next
	}
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

// Get asks for an object of a kind.
func Get(ctx context.Context, c *Client, r Request, kind string, into any, protobuf func([]byte) error) error {
	a, err := c.Do(ctx, r)
	if err != nil {
		return err
	}
	if err := decode(a, kind, into, func(raw []byte, _ any) error { return protobuf(raw) }); err != nil {
		return &Unreached{r.What, err}
	}
	return nil
}

// decode reads an answer of a kind; anything else, such as the page of a proxy, is
// an error and not an empty list.
func decode(a Answer, kind string, into any, protobuf func([]byte, any) error) error {
	if raw, is := bytes.CutPrefix(a.Body, magic); is {
		var u runtime.Unknown
		if err := u.Unmarshal(raw); err != nil {
			return fmt.Errorf("the answer is no protobuf of Kubernetes: %w", err)
		}
		if u.Kind != kind {
			return fmt.Errorf("the answer is a %q and not a %s", u.Kind, kind)
		}
		return protobuf(u.Raw, into)
	}
	var head metav1.TypeMeta
	if err := json.Unmarshal(a.Body, &head); err != nil || head.Kind != kind {
		return fmt.Errorf("the answer is no %s of Kubernetes (%s)", kind, a.ContentType)
	}
	return json.Unmarshal(a.Body, into)
}

// counter counts requests and bytes.
type counter struct{ requests, bytes atomic.Int64 }

func (c *counter) add(bytes int) {
	c.requests.Add(1)
	c.bytes.Add(int64(bytes))
}

// Traffic returns how many requests were made, and how many bytes were answered.
func (c *Client) Traffic() (requests, bytes int64) {
	return c.count.requests.Load(), c.count.bytes.Load()
}
