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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// pageSize keeps one page of nodes, at about 15 kB each, to a few megabytes.
const pageSize = 500

// magic begins every protobuf answer (k8s.io/apimachinery/pkg/runtime/serializer/protobuf).
var magic = []byte("k8s\x00")

var (
	// errSamePage keeps a server that goes in circles from filling the memory.
	errSamePage = errors.New("the API server answers with the same page for ever")
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
		if err := sleep(ctx, firstPause); err != nil {
			return nil, &Unreached{r.What, err}
		}
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
	var raw []byte
	a, err := c.try(ctx, r, func(a Answer) (err error) { raw, err = content(a, kind); return err })
	if err != nil {
		return err
	}
	if isProtobuf(a) {
		err = protobuf(raw)
	} else {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return &Unreached{r.What, err}
	}
	return nil
}

func isProtobuf(a Answer) bool { return bytes.HasPrefix(a.Body, magic) }

// content returns an object of a kind, in protobuf or JSON; anything else, such as
// the page of a proxy, is an error and not an empty list.
func content(a Answer, kind string) ([]byte, error) {
	if raw, is := bytes.CutPrefix(a.Body, magic); is {
		var u runtime.Unknown
		if err := u.Unmarshal(raw); err != nil {
			return nil, fmt.Errorf("the answer is no protobuf of Kubernetes: %w", err)
		}
		if u.Kind != kind {
			return nil, fmt.Errorf("the answer is a %q and not a %s", u.Kind, kind)
		}
		return u.Raw, nil
	}
	var head metav1.TypeMeta
	if err := json.Unmarshal(a.Body, &head); err != nil || head.Kind != kind {
		return nil, fmt.Errorf("the answer is no %s of Kubernetes (%s)", kind, a.ContentType)
	}
	return a.Body, nil
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
