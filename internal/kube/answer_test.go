// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/memnet"
)

// A refusal says why in whichever form it comes.
func TestTheMessageOfARefusalIsReadInProtobuf(t *testing.T) {
	body := enveloped(t, "Status", &metav1.Status{Message: "nodes is forbidden"})
	f := newFailure(&http.Response{StatusCode: http.StatusForbidden}, Answer{Body: body})
	assert.True(t, f.Message == "nodes is forbidden" && !f.page, f)
}

func pods(n int) *corev1.PodList {
	l := &corev1.PodList{ListMeta: metav1.ListMeta{Continue: "further", ResourceVersion: "7"}}
	for i := range n {
		l.Items = append(l.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), Annotations: map[string]string{"filler": strings.Repeat("x", 1000)}}})
	}
	return l
}
func names(p *corev1.Pod, kept []string) []string { return append(kept, p.Name) }

// zipped serves a text compressed, and cuts so many bytes off its end.
func zipped(t *testing.T, text []byte, cut int) *Client {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(text)
	z.Close()
	return answering(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, r.Header.Get("Accept-Encoding"), "gzip", "it asks for")
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(packed.Bytes()[:packed.Len()-cut])
	})
}

func TestCompressedAnswersAreReadWhole(t *testing.T) {
	text := bytes.Repeat([]byte("a line of text\n"), 10_000)
	for cut, whole := range map[int]bool{0: true, 1: false, 8: false, 100: false} {
		synctest.Test(t, func(t *testing.T) {
			a, err := zipped(t, text, cut).Do(t.Context(), Request{What: "get a text", Method: http.MethodGet, Path: "/"})
			assert.Truef(t, whole == (err == nil) && (!whole || bytes.Equal(a.Body, text)), "without %d bytes: %d of %d bytes, %v", cut, len(a.Body), len(text), err)
		})
	}
}

// slowly writes a byte, again and again after a pause.
func slowly(pause time.Duration, times int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for range times {
			select {
			case <-time.After(pause):
			case <-r.Context().Done():
				return
			}
			w.Write([]byte(" "))
			http.NewResponseController(w).Flush()
		}
	}
}

func TestASilentServerIsNotWaitedFor(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		took   time.Duration
		want   string // "" for an answer
	}{
		{"nothing comes", slowly(time.Hour, 1), silentTime, "get nodes: the API server stopped responding in the middle; check the network and the API server, and run the command again"},
		{"nothing follows the first bytes", func(w http.ResponseWriter, r *http.Request) {
			slowly(time.Second, 1)(w, r)
			slowly(time.Hour, 1)(w, r)
		}, time.Second + silentTime, "get nodes: the API server stopped responding in the middle;"},
		{"it is slow, and continues", slowly(silentTime-time.Second, 6), 6 * (silentTime - time.Second), ""},
		{"it is slow without an end", slowly(silentTime-time.Second, 1000), answerTime, "get nodes: context deadline exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := answering(t, c.answer)
				client.retry.allowed = 0
				start := time.Now()
				_, err := client.Do(t.Context(), get)
				assert.Equal(t, time.Since(start), c.took)
				assert.Truef(t, (err == nil) == (c.want == "") && (err == nil || strings.HasPrefix(err.Error(), c.want)), "%v", err)
			})
		})
	}
}

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

// listed serves a list of pods by pages, in protobuf, and notes the requests.
// before answers in its place where it returns true.
func listed(t *testing.T, all int, before func(http.ResponseWriter, *http.Request) bool) (*Client, *[]string) {
	t.Helper()
	var asked []string
	return answering(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		if before != nil && before(w, r) {
			return
		}
		q := r.URL.Query()
		from, _ := strconv.Atoi(q.Get("continue"))
		to, next := all, ""
		if limit, _ := strconv.Atoi(q.Get("limit")); limit > 0 && from+limit < all && q.Get("resourceVersion") != "0" {
			to = from + limit
			next = strconv.Itoa(to)
		}
		list := pods(all)
		list.Items, list.Continue = list.Items[from:to], next
		w.Write(enveloped(t, "PodList", list))
	}), &asked
}

// enveloped is an object as an API server sends it in protobuf.
func enveloped(t *testing.T, kind string, o interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	raw := assert.Value(o.Marshal())(t)
	body := assert.Value((&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}).Marshal())(t)
	return append([]byte("k8s\x00"), body...)
}

var listPods = Resource{Version: "v1", Name: "pods", Kind: "PodList"}

// wanted are the names of so many pods.
func wanted(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint(i))
	}
	return list
}

func TestAListIsReadByPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			options metav1.ListOptions
			want    string
		}{
			{metav1.ListOptions{}, "[limit=500 continue=500&limit=500 continue=1000&limit=500]"},
			{metav1.ListOptions{LabelSelector: "a=b", FieldSelector: "c=d"}, "[fieldSelector=c%3Dd&labelSelector=a%3Db&limit=500 continue=500&fieldSelector=c%3Dd&labelSelector=a%3Db&limit=500 continue=1000&fieldSelector=c%3Dd&labelSelector=a%3Db&limit=500]"},
			{metav1.ListOptions{ResourceVersion: "0"}, "[limit=500&resourceVersion=0]"},
		} {
			client, asked := listed(t, 1200, nil)
			r := listPods
			r.Options = c.options
			kept, err := Collect(t.Context(), client, r, names)
			assert.Truef(t, err == nil && slices.Equal(kept, wanted(1200)) && fmt.Sprint(*asked) == c.want, "%d pods, %v: %v", len(kept), err, *asked)
		}
	})
}

// expired is what an API server says of a token whose state of the cluster is gone.
const expired = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"The provided continue parameter is too old to display a consistent list result"}`

func TestAListThatExpiresBetweenItsPagesIsOneStateOfTheCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, asked := listed(t, 1200, func(w http.ResponseWriter, r *http.Request) bool {
			old := r.URL.Query().Get("continue") == "1000"
			if old {
				answer(http.StatusGone, expired)(w, r)
			}
			return old
		})
		kept, err := Collect(t.Context(), client, listPods, names)
		assert.Truef(t, err == nil && slices.Equal(kept, wanted(1200)) && fmt.Sprint(*asked) == "[limit=500 continue=500&limit=500 continue=1000&limit=500 ]", "%d pods, %v: %q", len(kept), err, *asked)
	})
}

func TestAListThatIsNotReadWholeIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		want   string
		answer http.HandlerFunc
	}{
		"it always expires":        {"list pods: the API server answers 410: The provided continue parameter", answer(http.StatusGone, expired)},
		"a right is missing":       {"list pods: the API server answers 403", code(http.StatusForbidden)},
		"the token expires":        {"list pods: the API server answers 401", code(http.StatusUnauthorized)},
		"a page ends early":        {"list pods: unexpected EOF", cut},
		"it is damaged":            {"list pods: ", answer(200, `{"kind":"PodList","metadata":{},"items":1}`)},
		"its envelope is damaged":  {"list pods: the answer is no PodList", answer(200, "k8s\x00\x0a\xff")},
		"its kind is damaged":      {"list pods: the answer is no PodList", answer(200, "k8s\x00\x0a\x02\xff\xff")},
		"half of it is there":      {"list pods: the answer is no PodList", answer(200, string(enveloped(t, "PodList", pods(2))[:2000]))},
		"the same page comes back": {"list pods: the API server returns the same page forever", answer(200, `{"kind":"PodList","metadata":{"continue":"again"}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, asked := listed(t, 1200, func(w http.ResponseWriter, r *http.Request) bool {
					late := r.URL.Query().Get("limit") == "" || r.URL.Query().Get("continue") != ""
					if late {
						c.answer(w, r)
					}
					return late
				})
				kept, err := Collect(t.Context(), client, listPods, names)
				assert.Truef(t, kept == nil && err != nil && strings.HasPrefix(err.Error(), c.want), "%d pods, %v: %q", len(kept), err, *asked)
				assert.Truef(t, errors.As(err, new(*Unreached)) || errors.As(err, new(*Failure)), "%T", err)
			})
		})
	}
}

func TestACustomResourceIsListedInJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := answering(t, func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, r.Header.Get("Accept"), "application/json", "it asks for")
			w.Write([]byte(`{"kind":"ClusterList","metadata":{},"items":[{"metadata":{"name":"orchard"}}]}`))
		})
		kept, err := CollectAs(t.Context(), client, Resource{Version: "x/v1", Name: "clusters", Kind: "ClusterList"}, func(raw []byte) (string, error) { return string(raw), nil })
		assert.Truef(t, err == nil && slices.Equal(kept, []string{`{"metadata":{"name":"orchard"}}`}), "%v %v", kept, err)
	})
}

func TestASecretIsReadByItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := answering(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/k8s/clusters/local/api/v1/namespaces/fleet-default/secrets/there":
				w.Write(enveloped(t, "Secret", &corev1.Secret{Data: map[string][]byte{"plan": []byte("text")}}))
			case "/k8s/clusters/local/api/v1/namespaces/fleet-default/secrets/damaged":
				w.Write([]byte(`{"kind":"Secret","data":1}`))
			default:
				http.NotFound(w, r)
			}
		})
		s, err := GetSecret(t.Context(), client, "fleet-default", "there")
		assert.Truef(t, err == nil && string(s.Data["plan"]) == "text", "%v %v", s, err)
		s, err = GetSecret(t.Context(), client, "fleet-default", "gone")
		assert.Truef(t, s == nil && err == nil, "%v %v", s, err)
		s, err = GetSecret(t.Context(), client, "fleet-default", "damaged")
		assert.Truef(t, s == nil && errors.As(err, new(*Unreached)), "%v %v", s, err)
	})
}
