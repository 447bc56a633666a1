// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/memnet"
)

func TestAnEventHasAMessageThatTheServerAccepts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent corev1.Event
		at, code, reason := "", http.StatusCreated, "AlreadyExists"
		s := memnet.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.NilError(t, json.NewDecoder(r.Body).Decode(&sent))
			at = r.Method + " " + r.URL.Path
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","reason":%q,"code":%d}`, reason, code)
		}))
		c := assert.Value(Connect(Connection{Rancher: s.URL, Token: "token-abcde:x", Insecure: true, Dial: memnet.Dial}))(t)
		e := corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Cluster", Name: "harbour"}, Message: strings.Repeat("x", mostOfEvent-1) + "é"}
		for _, code = range []int{http.StatusCreated, http.StatusConflict} { // it was created before
			assert.NilError(t, c.CreateEvent(t.Context(), "1", e))
		}
		assert.Truef(t, strings.HasSuffix(at, "POST /k8s/clusters/local/api/v1/namespaces/default/events") && sent.Name == "rke-lm.1" && sent.Source.Component == Program && utf8.ValidString(sent.Message) && len(sent.Message) == mostOfEvent-1, "%s: %+v", at, sent)
		code = http.StatusForbidden
		assert.True(t, c.CreateEvent(t.Context(), "2", e) != nil, "an Event that was not created is no error")
		code, reason = http.StatusConflict, "Conflict"
		assert.True(t, c.CreateEvent(t.Context(), "3", e) != nil, "an Event that the conflict of a quota kept from being created is no error")
	})
}

func TestAPathIsThatOfACollectionOrOfOneObject(t *testing.T) {
	for want, got := range map[string]string{
		"/api/v1/nodes": Path("v1", "nodes", "", ""),
		"/api/v1/namespaces/kube-system/secrets/a":       Path("v1", "secrets", "kube-system", "a"),
		"/apis/apps/v1/namespaces/a%2Fb/daemonsets":      Path("apps/v1", "daemonsets", "a/b", ""),
		"/apis/management.cattle.io/v3/clusters/c-x%3Fy": Path("management.cattle.io/v3", "clusters", "", "c-x?y"),
	} {
		assert.Equal(t, got, want)
	}
}

// script answers the first requests with these functions, and the others with "{}".
func script(t *testing.T, answers ...http.HandlerFunc) (*Client, *int) {
	t.Helper()
	var asked *int
	handler, asked := counted(func(w http.ResponseWriter, r *http.Request) {
		if *asked <= len(answers) {
			answers[*asked-1](w, r)
			return
		}
		w.Write([]byte("{}"))
	})
	return answering(t, handler), asked
}

// code answers with a code, and answer with a body as well.
func code(code int, header ...string) http.HandlerFunc { return answer(code, "", header...) }

func answer(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// counted counts what it answers.
func counted(next http.HandlerFunc) (http.HandlerFunc, *int) {
	asked := new(int)
	return func(w http.ResponseWriter, r *http.Request) {
		*asked++
		next(w, r)
	}, asked
}

// cut announces more than it writes.
func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	w.Write([]byte(`{"half`))
}

// fall ends a connection without an answer.
func fall(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

var get = Request{What: "get nodes", Method: http.MethodGet, Path: "/api/v1/nodes/a"}

func TestWhatPassesIsTriedAgainAfterAPause(t *testing.T) {
	for _, c := range []struct {
		name string
		want time.Duration
		had  []http.HandlerFunc
	}{
		{"an error of the server", firstPause, []http.HandlerFunc{code(500)}},
		{"several, each after a longer pause", firstPause + 2*firstPause + 4*firstPause, []http.HandlerFunc{code(500), code(502), code(503)}},
		{"too many requests", firstPause, []http.HandlerFunc{code(429)}},
		{"too many requests, for a time that the server says", 3 * time.Second, []http.HandlerFunc{code(429, "Retry-After", "3")}},
		{"a time that is none", firstPause, []http.HandlerFunc{code(503, "Retry-After", "-3")}},
		{"an answer that ends in the middle", firstPause, []http.HandlerFunc{cut}},
		{"a connection that ends without an answer", firstPause, []http.HandlerFunc{fall}},
		{"compressed text that is none", firstPause, []http.HandlerFunc{answer(200, "plain", "Content-Encoding", "gzip")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, asked := script(t, c.had...)
				client.retry.allowed = 4 * time.Second
				start := time.Now()
				_, err := client.Do(t.Context(), get)
				assert.Truef(t, err == nil && time.Since(start) == c.want && *asked == len(c.had)+1, "%v after %s, asked %d times", err, time.Since(start), *asked)
			})
		})
	}
}

func TestNoRequestIsTriedForLongerThanAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
		took   time.Duration // at least
	}{
		"errors without an end":            {code(500), "get nodes: the API server answers 500: Internal Server Error", 600 * time.Millisecond},
		"a time that is longer":            {code(429, "Retry-After", "3600"), "get nodes: the API server answers 429: Too Many Requests", 0},
		"answers that end in the middle":   {cut, "get nodes: unexpected EOF; check the network and the API server, and run the command again", 600 * time.Millisecond},
		"a server that forgets the answer": {fall, "EOF; check the network and the API server, and run the command again", 600 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := answering(t, c.answer) // one second is allowed
				start := time.Now()
				_, err := client.Do(t.Context(), get)
				took := time.Since(start)
				assert.Truef(t, errors.As(err, new(*Unreached)) && strings.Contains(err.Error(), c.want) && took >= c.took && took <= time.Second, "%T %v after %s", err, err, took)
			})
		})
	}
}

func TestARequestIsMadeAgainWithItsWholeBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bodies []string
		note := func(next http.HandlerFunc) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				bodies = append(bodies, r.Header.Get("Content-Type")+" "+string(body))
				next(w, r)
			}
		}
		client, _ := script(t, note(code(500)), note(cut), note(answer(200, "{}")))
		patch := Request{What: "patch nodes", Method: http.MethodPatch, Path: "/api/v1/nodes/a", Body: []byte(`[{"op":"test"}]`), ContentType: "application/json-patch+json"}
		_, err := client.Do(t.Context(), patch)
		assert.Truef(t, err == nil && fmt.Sprint(bodies) == strings.TrimSuffix("["+strings.Repeat(`application/json-patch+json [{"op":"test"}] `, 3), " ")+"]", "%v %q", err, bodies)
	})
}

func TestAPageInThePlaceOfAnAnswerIsTriedAgainForAFewSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler, asked := counted(answer(200, "<html>one moment</html>"))
		client := answering(t, handler)
		client.retry.allowed = time.Hour
		version := get
		version.Read = func(Answer) error { return errors.New("it is no version") }
		_, err := client.Do(t.Context(), version)
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), "get nodes: it is no version; check the network"), err)
		*asked = 0
		a, err := client.Object(t.Context(), get, "Node")
		assert.Truef(t, err != nil && strings.HasPrefix(err.Error(), "get nodes: the answer is no Node of Kubernetes") && *asked >= 5 && len(a.Body) == 0, "asked %d times: %q %v", *asked, a.Body, err)
	})
}

func TestAnInterruptEndsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := answering(t, code(500))
		client.retry.allowed = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		_, err := client.Do(ctx, get)
		assert.Truef(t, errors.Is(err, context.DeadlineExceeded) && time.Since(start) == time.Minute, "%v after %s", err, time.Since(start))
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		_, err = client.Do(ctx, get)
		assert.True(t, err != nil && err.Error() == "get nodes: interrupted", err)
	})
}

// The rights were reviewed, but not that of what a run continues without.
func TestWhatIsOptionalIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const message = `events is forbidden: User "u-1" cannot list resource "events" in API group "" at the cluster scope`
		for _, optional := range []bool{false, true} {
			client, asked := refusing(t, http.StatusForbidden, message)
			client.Reviewed()
			r := get
			r.Optional = optional
			_, err := client.Do(t.Context(), r)
			assert.Truef(t, HasStatus(err, http.StatusForbidden) && (*asked == 1) == optional, "optional is %t, asked %d times: %v", optional, *asked, err)
		}
	})
}

func TestWhatIsNoNameAsksNoOne(t *testing.T) {
	for _, path := range []string{"/api/v1/nodes/a%2Fb", "/api/v1/nodes/..", "/api/v1/nodes/%2E%2E", "/api/v1/nodes/a%25b", "/api/v1/nodes/%zz"} {
		client, asked := script(t)
		_, err := client.Do(t.Context(), Request{What: "get nodes", Method: http.MethodGet, Path: path})
		assert.Truef(t, err != nil && *asked <= 0, "%s: asked %d times, %v", path, *asked, err)
	}
}

// contextOf is a kubeconfig with a current context that leads to an address.
func contextOf(t *testing.T, server string) string {
	t.Helper()
	return file(t, "config", `{"apiVersion":"v1","kind":"Config","current-context":"harbour","clusters":[{"name":"c","cluster":{"server":"`+server+`"}}],`+
		`"users":[{"name":"u","user":{}}],"contexts":[{"name":"harbour","context":{"cluster":"c","user":"u"}}]}`)
}

func TestAFirstConnectionThatIsRefusedIsNamedAtOnceAndGivenUpSoon(t *testing.T) {
	for name, c := range map[string]struct {
		first time.Duration
		longs bool // it is tried for as long as other requests
	}{
		"a command that does not wait": {5 * time.Second, false},
		"a command that waits":         {0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var printed []string
				note := func(text string) {
					printed = append(printed, text)
					assert.Equal(t, time.Since(start), 0)
				}
				client := assert.Value(Connect(Connection{Kubeconfig: contextOf(t, "http://127.0.0.1:1"), RetryFor: 30 * time.Second, FirstFor: c.first, Refused: note, Dial: memnet.Dial}))(t)
				_, err := client.Do(t.Context(), get)
				_, again := client.Do(t.Context(), get) // a command may make another request for the same
				took := time.Since(start)
				assert.Truef(t, errors.Is(err, syscall.ECONNREFUSED) && errors.Is(again, syscall.ECONNREFUSED) && c.longs == (took > 10*time.Second) && took <= time.Minute, "%v, %v after %s", err, again, took)
				assert.True(t, len(printed) == 1 && strings.Contains(printed[0], "cannot connect to the API server http://127.0.0.1:1 of the context harbour: "), printed)
			})
		})
	}
}

// A stage restarts the API server, so what was reached once is waited for.
func TestAServerThatHasAnsweredIsTriedForAsLongAsOtherRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen()
		answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") })
		s := &http.Server{Handler: answer}
		go s.Serve(l)
		client := assert.Value(Connect(Connection{Kubeconfig: contextOf(t, "http://"+l.Addr().String()), RetryFor: 30 * time.Second, FirstFor: 5 * time.Second, Refused: func(text string) { t.Error(text) }, Dial: memnet.Dial}))(t)
		_, err := client.Do(t.Context(), get)
		assert.NilError(t, err)
		s.Close()
		time.AfterFunc(12*time.Second, func() {
			s = &http.Server{Handler: answer}
			go s.Serve(l.Again())
		})
		_, err = client.Do(t.Context(), get)
		assert.NilError(t, err)
		s.Close()
	})
}
