// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform"
)

func TestANameThatIsNoneAsksNoOne(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		for _, name := range []string{"/", "fleet-default/", "/orchard", "fleet-default/orchard/x", "fleet-default/..", "./orchard", "fleet-default/a%2fb"} {
			assert.Error(s.Find(t.Context(), Query{Name: name}))(t, "NAMESPACE/NAME", name)
		}
		assert.True(t, len(r.Requests) == 0, r.Requests)
	})
}

// People know a cluster by its name on the pages, whoever makes it.
func TestAnyClusterIsFoundByTheNameOnThePages(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		for _, text := range []string{
			`{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"local","namespace":"fleet-local"},"spec":{},"status":{"clusterName":"local"}}`,
			`{"apiVersion":"management.cattle.io/v3","kind":"Cluster","metadata":{"name":"local"},"spec":{"displayName":"headquarters","internal":true}}`,
			`{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"c-9q4tz","namespace":"fleet-default"},"spec":{},"status":{"clusterName":"c-9q4tz"}}`,
			`{"apiVersion":"management.cattle.io/v3","kind":"Cluster","metadata":{"name":"c-9q4tz"},"spec":{"displayName":"Möwe & Söhne (EKS)","eksConfig":{"region":"eu-west-1"}}}`,
			strings.NewReplacer("c-x7k2p", "c-b5n8w", "curlew", "Grüne Wiese").Replace(curlewText),
		} {
			r.Put(t, text)
		}
		for name, want := range map[string]string{
			"local": "fleet-local/local", "headquarters": "fleet-local/local", "c-9q4tz": "fleet-default/c-9q4tz", "Möwe & Söhne (EKS)": "fleet-default/c-9q4tz",
			"Grüne Wiese": "c-b5n8w (Grüne Wiese)",
		} {
			assert.Equal(t, find(t, s, name).Title(), want, name)
		}
	})
}

func TestANameOfTwoKindsOfClustersIsRefused(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		r.Put(t, strings.NewReplacer("u-orchard", "u-curlew", "orchard", "curlew", "c-m-8kqlhbsd", "c-m-9lrmictf").Replace(orchardText))
		assert.Error(s.Find(t.Context(), Query{Name: "curlew"}))(t, "c-x7k2p (curlew), fleet-default/curlew; use NAMESPACE")
		for name, kind := range map[string]transform.ObjectKind{"c-x7k2p": transform.Management, "fleet-default/curlew": transform.Provisioning, "c-m-9lrmictf": transform.Provisioning} {
			assert.Equal(t, find(t, s, name).Kind, kind, name)
		}
	})
}

// A cluster of RKE has two objects, and people label the one or the other.
func TestAClusterOfRKEIsFoundByTheLabelsOfEither(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		r.Edit("/apis/provisioning.cattle.io/v1/namespaces/fleet-default/clusters/c-x7k2p", func(o map[string]any) {
			o["metadata"].(map[string]any)["labels"] = map[string]any{"team": "birds"}
		})
		list, err := s.Find(t.Context(), Query{Selector: "team=birds"})
		assert.Truef(t, err == nil && len(list) == 1 && list[0].Kind == transform.Management && list[0].Title() == "c-x7k2p (curlew)", "%v %v", list, err)
	})
}

func TestTheServerOfAnotherClusterIsNotTakenForARancher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, status := range []int{403, 404} {
			r, s := open(t)
			r.Do(func() {
				r.Fault = func(req *http.Request) ranchertest.Fault {
					if strings.HasSuffix(req.URL.Path, "/apis/provisioning.cattle.io/v1") {
						return ranchertest.Fault{Status: 404}
					}
					return ranchertest.Fault{Status: status}
				}
			})
			for _, name := range []string{"fleet-default/orchard", "orchard", ""} {
				_, err := s.Find(t.Context(), Query{Name: name})
				assert.Truef(t, errors.Is(err, ErrNoRancher), "%d, %q: %v", status, name, err)
			}
		}
	})
}

// A cut says nothing about what kind of a cluster it is.
func TestACutIsNoAnswerAboutAClusterOfRKE(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{"fleet-default/c-x7k2p", "c-x7k2p"} {
			r, s := open(t)
			r.Fail(ranchertest.Fault{Lost: true}, func(req *http.Request) bool { return strings.HasSuffix(req.URL.Path, "/v3/clusters/c-x7k2p") })
			list, err := s.Find(t.Context(), Query{Name: name})
			assert.Truef(t, unreached(err), "%s: %v %v", name, list, err)
		}
	})
}
