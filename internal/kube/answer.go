// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/recognizer"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/workqueue"

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
	list, _ := net.ParseWarningHeaders(res.Header.Values("Warning")) // RFC 7234, 5.5; they are about fields, and name no secret
	warnings := lists.Map(list, func(w net.WarningHeader) string { return redact.Text(w.Text) })
	a := Answer{body, res.Header.Get("Content-Type"), warnings}
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

const (
	// answerTime is for how long one answer may take.
	answerTime = 2 * time.Minute
	// silentTime is for how long nothing of it may come.
	silentTime = 20 * time.Second
)

// errSilent ends a request over a connection that has no other end any more: without
// an answer the network itself says so after many minutes.
var errSilent = errors.New("the API server stopped responding in the middle")

// broken says why what came is no answer.
type broken struct{ err error }

func (b *broken) Error() string { return b.err.Error() }
func (b *broken) Unwrap() error { return b.err }

// timely ends a request when its answer takes too long, or when nothing has come of it
// for a while.
type timely struct{ next http.RoundTripper }

func (t *timely) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), answerTime)
	ctx, silence := context.WithCancelCause(ctx)
	timer := time.AfterFunc(silentTime, func() { silence(errSilent) })
	body := &timelyBody{ctx: ctx, timer: timer, stop: func() { timer.Stop(); silence(nil); cancel() }}
	res, err := t.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		defer body.stop()
		return nil, body.ended(err)
	}
	body.ReadCloser, res.Body = res.Body, body
	return res, nil
}

type timelyBody struct {
	io.ReadCloser
	ctx   context.Context
	timer *time.Timer
	stop  func()
}

func (b *timelyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.timer.Reset(silentTime)
	}
	return n, b.ended(err)
}

func (b *timelyBody) Close() error {
	defer b.stop()
	return b.ReadCloser.Close()
}

// ended reports why a request was ended: an answer that ends after that is none, for a
// server ends one in good order when its client goes away.
func (b *timelyBody) ended(err error) error {
	if err != nil && b.ctx.Err() != nil {
		return &broken{context.Cause(b.ctx)}
	}
	return err
}

// What a server answers is kept in memory, so there are bounds. No honest answer comes
// close: from its cache an API server answers with a whole list at once, which is 150 MB
// of JSON for 5,000 nodes of 30 kB each, and a page of 500 objects of 1 MiB, the most
// that etcd takes by default, is 500 MiB.
const (
	// largestAnswer is how many bytes one answer may have, unpacked.
	largestAnswer = 640 << 20
	// mostPages is how many pages a list may have: of a million objects. Kubernetes is
	// made for 150,000 pods in a cluster.
	mostPages = 2000
	// memoryShare is the part of GOMEMLIMIT that one answer may have: while it is read and decoded, it is kept several times.
	memoryShare = 8
)

// bounds are those of a client.
type bounds struct {
	answer int64 // bytes
	pages  int   // of a list
}

// usual are the bounds of this process.
func usual() bounds {
	return bounds{min(largestAnswer, debug.SetMemoryLimit(-1)/memoryShare), mostPages}
}

// TooLarge means that a server answers without an end. It is not asked again.
type TooLarge struct{ what string }

func (e *TooLarge) Error() string {
	return "the API server answers with " + e.what + ", which is more than any cluster has; check the address, the proxies in between, and GOMEMLIMIT, which limits an answer to an eighth of it"
}

// limitedBody ends an answer that has more than a number of bytes.
type limitedBody struct {
	next http.RoundTripper
	most int64
}

func (b *limitedBody) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(req)
	if err != nil || req.URL.Query().Get("watch") == "true" { // a watch has no end, and bounds each of its events
		return res, err
	}
	res.Body = &boundedBody{res.Body, b.most, b.most}
	return res, nil
}

type boundedBody struct {
	io.ReadCloser
	left, most int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, &TooLarge{fmt.Sprintf("more than %d bytes", b.most)}
	}
	return n, err
}

// pageSize keeps one page of nodes, at about 15 kB each, to a few megabytes.
const pageSize = 500

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
		case next != "" && next == o.Continue: // it would fill the memory
			return nil, errors.New("the API server returns the same page forever")
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
	workqueue.ParallelizeUntil(context.Background(), AtOnce, n, func(i int) { errs[i] = do(i) }) // an error ends no other
	return Joined(errs)
}
