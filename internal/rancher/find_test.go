// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
)

func TestAClusterIsFoundByAnyOfItsNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := open(t)
		for name, want := range map[string]string{
			"fleet-default/orchard": "fleet-default/orchard", "orchard": "fleet-default/orchard", "c-m-8kqlhbsd": "fleet-default/orchard",
			"curlew": "c-x7k2p (curlew)", "c-x7k2p": "c-x7k2p (curlew)", "fleet-default/c-x7k2p": "c-x7k2p (curlew)",
			"guest": "fleet-default/guest",
		} {
			o := find(t, s, name)
			assert.Truef(t, o.Title() == want && o.UID != "" && o.ID != "", "%s is %s, not %s: %+v", name, o.Title(), want, o)
		}
	})
}

func TestClustersAreListedOnceEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := open(t)
		for selector, want := range map[string]string{
			"":                     "c-x7k2p (curlew), fleet-default/guest, fleet-default/orchard",
			"env=prod":             "c-x7k2p (curlew), fleet-default/orchard",
			"env notin (prod,dev)": "fleet-default/guest",
			"env=nowhere":          "",
		} {
			list, err := s.Find(t.Context(), Query{Selector: selector})
			assert.Truef(t, err == nil && titles(list) == want, "%q: %v %s, not %s", selector, err, titles(list), want)
		}
		_, err := s.Find(t.Context(), Query{Selector: "env in"})
		assert.True(t, err != nil, "half of a selector is taken")
	})
}

// A list comes in pages, and begins again where it expires between two.
func TestManyClustersAreAllFoundOnceEach(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		const more = 1100
		for i := range more {
			name := fmt.Sprintf("flock-%04d", i)
			r.Put(t, strings.NewReplacer("u-orchard", "u-"+name, "orchard", name, "c-m-8kqlhbsd", fmt.Sprintf("c-m-%08d", i)).Replace(orchardText))
		}
		expired := false
		r.Fail(ranchertest.Fault{Status: http.StatusGone}, func(req *http.Request) bool {
			first := !expired && strings.Contains(req.URL.RawQuery, "continue=1000")
			expired = expired || first
			return first
		})
		list, err := s.Find(t.Context(), Query{})
		titles := map[string]bool{}
		for _, o := range list {
			titles[o.Title()] = true
		}
		assert.Truef(t, err == nil && expired && len(list) == more+3 && len(titles) == more+3, "%v, %d clusters, %d of them different", err, len(list), len(titles))
		find(t, s, "flock-1099")
	})
}

// The role of a verb allows to get one object; it needs no list.
func TestAClusterIsReadWithoutAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{"fleet-default/orchard", "c-x7k2p"} {
			r, s := open(t)
			r.Fail(ranchertest.Fault{Status: 403}, func(req *http.Request) bool { return strings.HasSuffix(req.URL.Path, "/clusters") })
			find(t, s, name)
		}
	})
}

func TestANameThatMeansNoneOrSeveralIsRefused(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		for _, name := range []string{"heron", "fleet-default/heron"} {
			_, err := s.Find(t.Context(), Query{Name: name})
			assert.Truef(t, errors.Is(err, ErrNone), "%s: %v", name, err)
		}
		r.Put(t, strings.Replace(orchardText, "fleet-default", "other", 1))
		assert.Error(s.Find(t.Context(), Query{Name: "orchard"}))(t, "fleet-default/orchard, other/orchard")
	})
}

// The text of an object is what people write: what the server keeps changes all the
// time, and would make every saved plan stale.
func TestTheTextIsWithoutWhatTheServerKeeps(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		before := find(t, s, "fleet-default/orchard")
		for _, part := range []string{"managedFields", "resourceVersion", "status", `"generation"`} {
			assert.Truef(t, !strings.Contains(string(before.Text), part), "the text has %s:\n%s", part, before.Text)
		}
		assert.Contains(t, string(before.Text), `"additionalManifest": "a: \u003cb\u003e \u0026 c\n"`, "a value is not the text that the server wrote", before.Text)
		r.Edit(orchard, func(o map[string]any) { o["status"] = map[string]any{"ready": false} })
		after := find(t, s, "fleet-default/orchard")
		assert.Truef(t, string(after.Text) == string(before.Text) && meta(t, after).ResourceVersion != meta(t, before).ResourceVersion, "a status makes it another text:\n%s", after.Text)
	})
}

func TestWhatAnswersIsARancherOrAnError(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault ranchertest.Fault
		want  string
		is    func(error) bool
	}{
		{"no credentials", ranchertest.Fault{Status: 401}, "does not accept the token: it has expired, or its scope is one cluster, which Rancher's own cluster does not accept; create an API key without a scope, and run the command again", denied},
		{"no right", ranchertest.Fault{Status: 403}, "list clusters.provisioning.cattle.io", denied},
		{"no Rancher", ranchertest.Fault{Status: 404}, "this API server has no clusters of Rancher; use Rancher's own cluster, local, with --context or --rancher-url", func(err error) bool { return errors.Is(err, ErrNoRancher) }},
		{"a login page elsewhere", ranchertest.Fault{Status: 302, Location: "https://login.example.com/sso?token=abcdefgh"}, "https://login.example.com/sso, which is not followed", failed},
		{"a page", ranchertest.Fault{Status: 200, Body: "<html>"}, "no ClusterList", unreached},
		{"an overloaded server", ranchertest.Fault{Status: 503}, "503", unreached},
		{"a Rancher that says why", ranchertest.Fault{Status: 503, Body: `{"Code":{"Code":"ClusterUnavailable","Status":503},"Message":"failed to find Session for client stv-cluster-local token=abcdefgh1234"}`}, "failed to find Session", unreached},
		{"a cut", ranchertest.Fault{Lost: true}, "check the network", unreached},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
				r.Fail(c.fault, func(*http.Request) bool { return true })
				_, err := s.Find(t.Context(), Query{})
				assert.Truef(t, err != nil && strings.Contains(err.Error(), c.want) && c.is(err) && !strings.Contains(err.Error(), "abcdefgh"), "%T %v", err, err)
			})
		})
	}
}

func denied(err error) bool    { return errors.As(err, new(*kube.Denied)) }
func failed(err error) bool    { return errors.As(err, new(*kube.Failure)) }
func unreached(err error) bool { return errors.As(err, new(*kube.Unreached)) }

func TestAnotherClusterIsReachedThroughRancherAlone(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		r.Do(func() {
			r.Downstream["c-m-8kqlhbsd"] = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				w.Write([]byte(`{"kind":"Path","path":"` + req.URL.Path + `"}`))
			})
		})
		c := assert.Value(s.Downstream("c-m-8kqlhbsd"))(t)
		a, err := c.Do(t.Context(), kube.Request{What: "get the version", Method: http.MethodGet, Path: "/version"})
		assert.Truef(t, err == nil && strings.Contains(string(a.Body), `"/version"`), "%v %s", err, a.Body)
		direct := &Server{local: &kube.Client{}}
		assert.Error(direct.Downstream("c-m-8kqlhbsd"))(t, "--rancher-url")
	})
}
