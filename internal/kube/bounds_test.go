// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/memnet"
)

// serving returns a client of a server that counts the requests, with small bounds.
func serving(t *testing.T, answer http.HandlerFunc) (*Client, *int) {
	t.Helper()
	handler, asked := counted(answer)
	server := memnet.Serve(t, handler)
	c := assert.Value(newClient(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, Connection{RetryFor: 5 * time.Second, Dial: memnet.Dial}, bounds{answer: 1 << 20, pages: 10}, ""))(t)
	return c, asked
}

// stream writes until no one reads any more.
func stream(r *http.Request, write func([]byte) (int, error)) {
	for text := make([]byte, 64<<10); r.Context().Err() == nil; {
		if _, err := write(text); err != nil {
			return
		}
	}
}

func TestAnAnswerWithoutAnEndIsNotReadOnAndNotRequestedAgain(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"endless": func(w http.ResponseWriter, r *http.Request) { stream(r, w.Write) },
		"an error without an end": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			stream(r, w.Write)
		},
		"a small answer that unpacks to a large one": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			z.Write(make([]byte, 4<<20))
			z.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, asked := serving(t, answer)
			_, err := c.Do(t.Context(), Request{What: "list nodes", Method: http.MethodGet, Path: "/"})
			assert.Truef(t, errors.As(err, new(*TooLarge)) && strings.Contains(err.Error(), "more than 1048576 bytes") && *asked == 1, "asked %d times: %v", *asked, err)
		})
	}
}

func TestAnAnswerOfTheLargestSizeIsRead(t *testing.T) {
	c, _ := serving(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 1<<20)) })
	a, err := c.Do(t.Context(), Request{Method: http.MethodGet, Path: "/"})
	assert.Truef(t, err == nil && len(a.Body) == 1<<20, "%d bytes, %v", len(a.Body), err)
}

// Clients that watch have the same bound, but for the watch itself, which has no end.
func TestAnAnswerToAClientThatWatchesIsBounded(t *testing.T) {
	c, _ := serving(t, func(w http.ResponseWriter, r *http.Request) { stream(r, w.Write) })
	client := assert.Value(rest.HTTPClientFor(c.Config(1)))(t)
	for query, most := range map[string]int64{"": 1 << 20, "?watch=true": 8 << 20} {
		res := assert.Value(client.Get(c.base + "/" + query))(t)
		n, err := io.CopyN(io.Discard, res.Body, 8<<20)
		res.Body.Close()
		assert.Truef(t, n <= most && errors.As(err, new(*TooLarge)) == (query == ""), "%q: %d bytes, %v", query, n, err)
	}
}

// The pod of the chart has 512 MiB. An answer is read, and kept once more while it is decoded.
func TestAnAnswerFitsIntoTheMemoryOfTheProcess(t *testing.T) {
	const pod = 512 << 20
	before := debug.SetMemoryLimit(pod)
	defer debug.SetMemoryLimit(before)
	assert.Equal(t, usual().answer, pod/8)
	debug.SetMemoryLimit(math.MaxInt64)
	assert.Equal(t, usual().answer, largestAnswer)
}

func TestAListWithoutALastPageEnds(t *testing.T) {
	page, last := 0, 0
	c, _ := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		page++
		next := fmt.Sprint("page-", page)
		if page == last {
			next = ""
		}
		fmt.Fprintf(w, `{"kind":"NodeList","apiVersion":"v1","metadata":{"continue":%q},"items":[{"metadata":{"name":"n"}}]}`, next)
	})
	list := func() (int, error) {
		page = 0
		nodes, err := Collect(t.Context(), c, Resource{Version: "v1", Name: "nodes", Kind: "NodeList"}, func(n *corev1.Node, kept []corev1.Node) []corev1.Node {
			return append(kept, *n)
		})
		return len(nodes), err
	}
	assert.Error(list())(t, "more than 10 pages", "endless")
	last = 10
	n, err := list()
	assert.Truef(t, n == 10 && err == nil, "%d nodes, %v", n, err)
}

// TestABodyThatStreamsEndsWithTheRun: a signal ends the context of the run.
func TestABodyThatStreamsEndsWithTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, 64<<10))
		cancel()
		stream(r, w.Write)
	})
	_, err := c.Do(ctx, Request{What: "list nodes", Method: http.MethodGet, Path: "/"})
	assert.True(t, errors.Is(err, context.Canceled), err)
}

func TestTheBoundsLetHonestAnswersPass(t *testing.T) {
	const nodes, node, object = 5000, 30 << 10, 1 << 20
	assert.True(t, largestAnswer >= nodes*node && largestAnswer >= pageSize*object && mostPages*pageSize >= 150_000, "a bound is too small")
}
