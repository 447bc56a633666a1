// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
)

// often fails the first so many requests whose URL has a part.
func often(times int, part string, f apitest.Fault) func(*http.Request) apitest.Fault {
	return func(r *http.Request) apitest.Fault {
		if times == 0 || !strings.Contains(r.URL.String(), part) {
			return apitest.Fault{}
		}
		times--
		return f
	}
}

// always fails all of them.
func always(part string, f apitest.Fault) func(*http.Request) apitest.Fault {
	return often(1<<30, part, f)
}

func TestWhatPassesIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault func(*http.Request) apitest.Fault
	}{
		{"a cut in the middle of the second page", often(2, "continue=500", apitest.Fault{Cut: true})},
		{"a cut in the middle of the first answers", often(4, "", apitest.Fault{Cut: true})},
		{"too many requests", often(2, "/nodes", apitest.Fault{Status: 429, RetryAfter: "1"})},
		{"a storm of errors", often(6, "", apitest.Fault{Status: 500})},
		{"a server that does not exist yet", often(3, "/leases", apitest.Fault{Status: 503, Body: "upstream connect error"})},
		{"the page of a proxy with an error", often(2, "/nodes", apitest.Fault{Status: 502, Body: "<html>bad gateway</html>"})},
		{"a list that is too old to continue", often(3, "continue=500", apitest.Fault{Status: 410})},
		{"a list whose second page always expires", always("continue=500", apitest.Fault{Status: 410})},
		{"a reset between two pages", often(2, "continue=500", apitest.Fault{Reset: true})},
		{"a page that comes late", often(1, "continue=500", apitest.Fault{Hang: 300 * time.Millisecond})},
		{"a page that stops in the middle", often(1, "continue=500", apitest.Fault{Stall: time.Minute})},
		{"a server that says nothing at all", often(1, "/leases", apitest.Fault{Hang: time.Minute})},
		{"the page of a proxy that restarts", often(2, "continue=500", apitest.Fault{Status: 200, Body: "<html>one moment</html>"})},
		{"the page of a proxy after a long storm", afterStorm(6*time.Second, often(2, "", apitest.Fault{Status: 200, Body: "<html>one moment</html>"}))},
		{"a proxy that does not know the server for now", often(2, "/leases", apitest.Fault{Status: 404, Body: "<html>no backend</html>"})},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := large(t)
				s.Fault = c.fault
				o := assert.Value(observer(t, s, 5*time.Minute).Observe(t.Context()))(t)
				seen := map[string]bool{}
				for _, n := range o.Nodes {
					seen[n.Name] = true
				}
				assert.Truef(t, len(o.Nodes) == 700 && len(seen) == 700 && len(o.Leases) == 3 && len(o.Managers) == 6, "%d nodes, %d of them different, %d leases, %d managers", len(o.Nodes), len(seen), len(o.Leases), len(o.Managers))
			})
		})
	}
}

// afterStorm lets a fault come when every request has failed for some time.
func afterStorm(length time.Duration, f func(*http.Request) apitest.Fault) func(*http.Request) apitest.Fault {
	var end time.Time
	return func(r *http.Request) apitest.Fault {
		if end.IsZero() {
			end = time.Now().Add(length)
		}
		if time.Now().Before(end) {
			return apitest.Fault{Status: 503}
		}
		return f(r)
	}
}

// large is a cluster whose nodes come in two pages.
func large(t *testing.T) *apitest.Server {
	t.Helper()
	s := apitest.Start(t)
	s.Fill(700)
	return s
}

func TestARetryWaitsAsTheServerSays(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		s.Fault = often(1, "/nodes", apitest.Fault{Status: 429, RetryAfter: "2"})
		start := time.Now()
		_, err := observer(t, s, 5*time.Minute).Observe(t.Context())
		assert.Truef(t, err == nil && time.Since(start) == 2*time.Second, "%v after %s", err, time.Since(start))
	})
}

// There is no Observation of a part of a cluster, whatever goes wrong.
func TestWhatDoesNotPassIsReported(t *testing.T) {
	for _, c := range []struct {
		name, want string
		fault      func(*http.Request) apitest.Fault
	}{
		{"errors without an end", "list nodes: the API server answers 500", always("/nodes", apitest.Fault{Status: 500})},
		{"a cut without an end", "list nodes: unexpected EOF", always("/nodes", apitest.Fault{Cut: true})},
		{"the login page of a proxy", "no NodeList of Kubernetes", always("/nodes", apitest.Fault{Status: 200, Body: "<html>log in</html>"})},
		{"another kind", "no NodeList of Kubernetes", always("/nodes", apitest.Fault{Status: 200, Body: "{\"kind\":\"PodList\"}"})},
		{"another kind as protobuf", "no NodeList of Kubernetes", always("/nodes", apitest.Fault{Status: 200, Body: podList(t)})},
		{"a page that never comes", ": the API server stopped responding in the middle; check the network", always("continue=500", apitest.Fault{Hang: time.Minute})},
		{"a page that always stops in the middle", ": the API server stopped responding in the middle; check the network", always("continue=500", apitest.Fault{Stall: time.Minute})},
		{"an empty answer", "no LeaseList of Kubernetes", always("/leases", apitest.Fault{Status: 200})},
		{"an empty object", "no NodeList of Kubernetes", always("/nodes", apitest.Fault{Status: 200, Body: "{}"})},
		{"the API server returns the same page forever", "the API server returns the same page forever", func(r *http.Request) apitest.Fault {
			if q := r.URL.Query(); q.Get("continue") != "" {
				q.Set("continue", "0")
				r.URL.RawQuery = q.Encode()
			}
			return apitest.Fault{}
		}},
		{"a redirect", "list nodes: the API server answers 302", always("/nodes", apitest.Fault{Status: 302})},
		{"a list that expires before its first page", "list nodes: the API server answers 410: Gone; check the API server", always("/nodes", apitest.Fault{Status: 410})},
		{"too many requests forever", "list nodes: the API server answers 429", always("continue=500", apitest.Fault{Status: 429, RetryAfter: "3600"})},
		{"a snapshot that a proxy hides", "get configmaps in kube-system: the API server answers 404", always("/configmaps/", apitest.Fault{Status: 404, Body: "<html>no backend</html>"})},
		{"Rancher's objects, hidden by a proxy", "get the resources of rke.cattle.io: the API server answers 404", always("/rke.cattle.io/v1", apitest.Fault{Status: 404, Body: "<html>no backend</html>"})},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := large(t)
				s.Fault = c.fault
				o, err := observer(t, s, time.Second).Observe(t.Context())
				assert.True(t, o == nil && err != nil && strings.Contains(err.Error(), c.want), err)
			})
		})
	}
}

// podList is an empty list as an API server writes it.
func podList(t *testing.T) string {
	t.Helper()
	body := assert.Value((&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "PodList"}}).Marshal())(t)
	return "k8s\x00" + string(body)
}

func TestRefusalsAreReportedAtOnceAndTogether(t *testing.T) {
	onCluster(t, 700, func(t *testing.T, s *apitest.Server) {
		s.Fault = func(r *http.Request) apitest.Fault {
			for _, part := range []string{"/nodes", "subjectaccessreviews", "csinodes"} {
				if strings.Contains(r.URL.Path, part) && !strings.HasSuffix(r.URL.Path, "/services") {
					return apitest.Fault{Status: 403}
				}
			}
			return apitest.Fault{}
		}
		start := time.Now()
		_, err := observer(t, s, 30*time.Minute).Observe(t.Context())
		const want = "missing permissions: create subjectaccessreviews.authorization.k8s.io, list csinodes.storage.k8s.io, list nodes; request them, docs/permissions.md has the roles"
		assert.Truef(t, errors.As(err, new(*kube.Denied)) && err.Error() == want && time.Since(start) <= 0, "%v after %s", err, time.Since(start))
	})
}

// Servers and proxies put what they were sent into what they answer.
func TestAnErrorShowsNoSecret(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		const secret = "token-abcde:k7m2x9w4q8z3v6b1n5c7f2h4j6t8p3s9"
		for _, code := range []int{400, 500} {
			s.Fault = always("/nodes", apitest.Fault{Status: code, Body: `{"kind":"Status","apiVersion":"v1","message":"invalid bearer ` + secret + `"}`})
			_, err := observer(t, s, 0).Observe(t.Context())
			assert.Truef(t, err != nil && !strings.Contains(err.Error(), secret) && strings.Contains(err.Error(), "invalid bearer"), "%d: %v", code, err)
		}
	})
}

func TestATokenThatExpiresInTheMiddleEndsTheObservation(t *testing.T) {
	onCluster(t, 700, func(t *testing.T, s *apitest.Server) {
		s.Fault = always("continue=500", apitest.Fault{Status: 401})
		o, err := observer(t, s, time.Minute).Observe(t.Context())
		var denied *kube.Denied
		assert.True(t, o == nil && errors.As(err, &denied) && denied.Expired, err)
	})
}

func TestAnInterruptEndsALook(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		s.Fault = always("/nodes", apitest.Fault{Status: 500})
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := observer(t, s, 30*time.Minute).Observe(ctx)
		assert.Truef(t, err != nil && time.Since(start) == 300*time.Millisecond, "%v after %s", err, time.Since(start))
	})
}
