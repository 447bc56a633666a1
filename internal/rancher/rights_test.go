// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

const gate = "get clusters.management.cattle.io local"

func titles(list []Object) string {
	return strings.Join(lists.Map(list, func(o Object) string { return o.Title() }), ", ")
}

func TestARefusalOfRancherItselfNamesTheRightThatItAsksFor(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		o := find(t, s, "c-x7k2p")
		r.Do(func() { r.Gated = true })
		for name, err := range map[string]error{
			"find": func() error { _, err := s.Find(t.Context(), Query{Name: "c-x7k2p"}); return err }(),
			"get":  func() error { _, err := s.Get(t.Context(), o); return err }(),
			"patch": func() error {
				_, _, err := s.Patch(t.Context(), o, edit(t, o, func(text string) string { return strings.Replace(text, "aws", "external", 1) }), nil, false)
				return err
			}(),
			"rollout": func() error { _, err := s.Rollout(t.Context(), o); return err }(),
		} {
			assert.Truef(t, denied(err) && strings.Contains(err.Error(), gate) && strings.Contains(err.Error(), "Rancher itself rejects every request for management.cattle.io, regardless of other permissions"), "%s: %v", name, err)
		}
	})
}

// An RKE2 cluster by its NAMESPACE/NAME or its ID needs nothing of management.cattle.io.
func TestClustersThatMayBeSeenAreFoundWithoutTheOthers(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		r.Do(func() { r.Gated = true })
		for _, name := range []string{"fleet-default/orchard", "c-m-8kqlhbsd", "fleet-default/guest", "c-m-zzzzzzzz"} {
			find(t, s, name)
		}
		list, err := s.Find(t.Context(), Query{})
		var part *Incomplete
		assert.Mustf(t, errors.As(err, &part) && titles(list) == "fleet-default/guest, fleet-default/orchard", "%s: %v", titles(list), err)
		assert.True(t, len(part.Unseen) == 2 && part.Unseen[0].Title == "RKE1 clusters" && part.Unseen[1].Title == "fleet-default/c-x7k2p" && strings.Count(err.Error(), gate) >= 2 && denied(err), err)
	})
}

func TestAListThatMayNotBeReadHidesNoOther(t *testing.T) {
	for what, want := range map[string]string{
		"/apis/management.cattle.io/v3/clusters":   "c-x7k2p (curlew), fleet-default/guest, fleet-default/orchard", // each by itself
		"/apis/provisioning.cattle.io/v1/clusters": "c-x7k2p (curlew)",
	} {
		onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
			r.Fail(ranchertest.Fault{Status: 403, Body: `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"message":"clusters is forbidden: User \"u-abcde\" cannot list resource \"clusters\""}`}, func(req *http.Request) bool { return strings.HasSuffix(req.URL.Path, what) })
			list, err := s.Find(t.Context(), Query{})
			assert.Truef(t, errors.As(err, new(*Incomplete)) && denied(err) && titles(list) == want, "%s: %s: %v", what, titles(list), err)
		})
	}
}

// A cluster that the user may not see may have the same name.
func TestANameIsRefusedWhereNotAllClustersAreSeen(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		r.Do(func() { r.Gated = true })
		for _, name := range []string{"orchard", "curlew"} {
			list, err := s.Find(t.Context(), Query{Name: name})
			assert.Truef(t, denied(err) && strings.Contains(err.Error(), gate) && strings.Contains(err.Error(), "NAMESPACE/NAME") && (!errors.As(err, new(*Incomplete)) || len(list) == 0), "%s: %v %v", name, list, err)
		}
	})
}

// Rancher keeps an object without a configuration for an RKE1 cluster, as for one that is imported.
func TestAnRKE1ClusterThatMayNotBeSeenIsNotTakenForAnother(t *testing.T) {
	for _, fault := range []string{"", `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"message":"clusters.management.cattle.io \"c-x7k2p\" is forbidden: User \"u-abcde\" cannot get resource \"clusters\""}`} {
		onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
			r.Do(func() { r.Gated = fault == "" })
			r.Fail(ranchertest.Fault{Status: 403, Body: fault}, func(req *http.Request) bool {
				return fault != "" && strings.HasSuffix(req.URL.Path, "/v3/clusters/c-x7k2p")
			})
			list, err := s.Find(t.Context(), Query{Name: "fleet-default/c-x7k2p"})
			assert.Truef(t, denied(err) && strings.Contains(err.Error(), "it is not known whether this is an RKE1 cluster") && strings.Contains(err.Error(), "get clusters.management.cattle.io"), "%v %v", list, err)
		})
	}
}

// withExpired returns a Rancher, a connection whose token it does not accept, a cluster, and the file of the token.
func withExpired(t *testing.T) (*ranchertest.Server, *Server, Object, string) {
	t.Helper()
	r, s := open(t)
	from := source(t, r)
	assert.NilError(t, os.WriteFile(from.TokenFile, []byte("token-abcde:expired\n"), 0o600))
	expired := assert.Value(Open(from))(t)
	return r, expired, find(t, s, "c-x7k2p"), from.TokenFile
}

// renew writes the good token into a file as soon as there is a request.
func renew(t *testing.T, r *ranchertest.Server, file string) {
	r.Fail(ranchertest.Fault{}, func(*http.Request) bool {
		assert.NilError(t, os.WriteFile(file, []byte(ranchertest.Token+"\n"), 0o600))
		return false
	})
}

// Rancher refuses a token that it does not accept with 403 there, and with 401 elsewhere.
func TestAnExpiredTokenIsNotTakenForAMissingRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, expired, o, _ := withExpired(t)
		var d *kube.Denied
		_, err := expired.Get(t.Context(), o)
		assert.True(t, errors.As(err, &d) && d.Expired, err)
	})
}

func TestATokenThatIsRenewedAfterARefusalOfRancherIsUsedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, expired, o, tokenFile := withExpired(t)
		before := r.Count("selfsubjectaccessreviews")
		renew(t, r, tokenFile)
		_, err := expired.Get(t.Context(), o)
		assert.Truef(t, err == nil && r.Count("selfsubjectaccessreviews") == before, "%v, asked %d times", err, r.Count("selfsubjectaccessreviews")-before)
	})
}

// Rancher remembers for ten seconds that it refused a user.
func TestAUserWhoHasTheRightByNowIsLetThroughALittleLater(t *testing.T) {
	for refusing, through := range map[time.Duration]bool{10 * time.Second: true, time.Hour: false} {
		onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
			o := find(t, s, "c-x7k2p")
			start := time.Now()
			r.Fail(ranchertest.Fault{Status: 403}, func(req *http.Request) bool {
				return strings.Contains(req.URL.Path, "/management.cattle.io/") && time.Since(start) < refusing
			})
			_, err := s.Get(t.Context(), o)
			assert.Truef(t, (err == nil) == through && (through || unreached(err) && strings.Contains(err.Error(), "403 without a reason from Rancher, although its API server reports that the user has permission to")), "%v: %v", refusing, err)
		})
	}
}

// Rancher 2.7.0, and an API server that is not reached through a Rancher, ask for no such right.
func TestTheRightIsNeededOnlyWhereRancherAsksForIt(t *testing.T) {
	for _, asks := range []bool{true, false} {
		onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
			r.Do(func() { r.Gated = true })
			const forbidden = `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"message":"clusters.management.cattle.io \"local\" is forbidden: User \"u-abcde\" cannot get resource \"clusters\""}`
			r.Fail(ranchertest.Fault{Status: 403, Body: forbidden}, func(req *http.Request) bool { return !asks && strings.Contains(req.URL.Path, "/management.cattle.io/") })
			err := s.Review(t.Context(), rollout.Permissions("apply", rollout.Subject{Kind: transform.Management, Home: "c-x7k2p", Name: "c-x7k2p", ID: "c-x7k2p"}))
			assert.Truef(t, asks == denied(err) && (!asks || strings.Contains(err.Error(), gate)) && (asks || err == nil), "%v: %v", asks, err)
		})
	}
}

// Rancher forwards no request to a cluster that the user cannot get, so nothing there is requested.
func TestOfAClusterThatRancherDoesNotForwardToOnlyTheRightForThatIsMissing(t *testing.T) {
	for _, lets := range []bool{true, false} {
		onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
			r.Do(func() { r.Denied["get clusters"] = !lets })
			missing, err := s.Rights(t.Context(), []rollout.Access{rollout.ClusterPermission("c-m-x7k2p"), {Cluster: "c-m-x7k2p", Resource: "nodes", Verb: "list"}})
			asked := r.Count(" /k8s/clusters/c-m-x7k2p/")
			assert.Truef(t, err == nil && (len(missing) == 0) == lets && (lets || missing[0] == rollout.ClusterPermission("c-m-x7k2p")) && (asked > 0) == lets, "%v: %v, asked %d times, %v", lets, missing, asked, err)
		})
	}
}
