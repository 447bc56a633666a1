// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/kubeapi"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
)

func TestAClusterIsFoundByWhateverPeopleCallIt(t *testing.T) {
	_, s := open(t)
	for name, want := range map[string]string{
		"fleet-default/orchard": "fleet-default/orchard", "orchard": "fleet-default/orchard", "c-m-8kqlhbsd": "fleet-default/orchard",
		"curlew": "c-x7k2p (curlew)", "c-x7k2p": "c-x7k2p (curlew)", "fleet-default/c-x7k2p": "c-x7k2p (curlew)",
		"guest": "fleet-default/guest",
	} {
		if o := find(t, s, name); o.Title() != want || o.UID == "" || o.ID == "" {
			t.Errorf("%s is %s, not %s: %+v", name, o.Title(), want, o)
		}
	}
}

func TestClustersAreListedOnceEach(t *testing.T) {
	_, s := open(t)
	for selector, want := range map[string]string{
		"":                     "c-x7k2p (curlew), fleet-default/guest, fleet-default/orchard",
		"env=prod":             "c-x7k2p (curlew), fleet-default/orchard",
		"env notin (prod,dev)": "fleet-default/guest",
		"env=nowhere":          "",
	} {
		list, err := s.Find(t.Context(), Query{Selector: selector})
		var titles []string
		for _, o := range list {
			titles = append(titles, o.Title())
		}
		if got := strings.Join(titles, ", "); err != nil || got != want {
			t.Errorf("%q: %v %s, not %s", selector, err, got, want)
		}
	}
	if _, err := s.Find(t.Context(), Query{Selector: "env in"}); err == nil {
		t.Error("half of a selector is taken")
	}
}

// The role of a verb allows to get one object; it needs no list.
func TestAClusterIsReadWithoutAList(t *testing.T) {
	for _, name := range []string{"fleet-default/orchard", "c-x7k2p"} {
		r, s := open(t)
		r.Do(func() {
			r.Fault = func(req *http.Request) ranchertest.Fault {
				if strings.HasSuffix(req.URL.Path, "/clusters") {
					return ranchertest.Fault{Status: 403}
				}
				return ranchertest.Fault{}
			}
		})
		find(t, s, name)
	}
}

func TestANameThatMeansNoneOrSeveralIsRefused(t *testing.T) {
	r, s := open(t)
	for _, name := range []string{"heron", "fleet-default/heron"} {
		if _, err := s.Find(t.Context(), Query{Name: name}); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.Put(t, strings.Replace(orchardText, "fleet-default", "other", 1))
	if _, err := s.Find(t.Context(), Query{Name: "orchard"}); err == nil || !strings.Contains(err.Error(), "fleet-default/orchard, other/orchard") {
		t.Errorf("%v", err)
	}
}

func TestANameThatIsNoneAsksNobody(t *testing.T) {
	r, s := open(t)
	for _, name := range []string{"/", "fleet-default/", "/orchard", "fleet-default/orchard/x", "fleet-default/..", "./orchard", "fleet-default/a%2fb"} {
		if _, err := s.Find(t.Context(), Query{Name: name}); err == nil || !strings.Contains(err.Error(), "NAMESPACE/NAME") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(r.Requests) > 0 {
		t.Errorf("%v", r.Requests)
	}
}

// People know a cluster by its name on the pages, whoever makes it.
func TestAnyClusterIsFoundByTheNameOnThePages(t *testing.T) {
	r, s := open(t)
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
		if o := find(t, s, name); o.Title() != want {
			t.Errorf("%s is %s, not %s", name, o.Title(), want)
		}
	}
}

// A cluster of RKE has two objects, and people label the one or the other.
func TestAClusterOfRKEIsFoundByTheLabelsOfEither(t *testing.T) {
	r, s := open(t)
	r.Edit("/apis/provisioning.cattle.io/v1/namespaces/fleet-default/clusters/c-x7k2p", func(o map[string]any) {
		o["metadata"].(map[string]any)["labels"] = map[string]any{"team": "birds"}
	})
	list, err := s.Find(t.Context(), Query{Selector: "team=birds"})
	if err != nil || len(list) != 1 || list[0].Distro != RKE1 || list[0].Title() != "c-x7k2p (curlew)" {
		t.Errorf("%v %v", list, err)
	}
}

func TestTheServerOfAnotherClusterIsNotTakenForARancher(t *testing.T) {
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
			if _, err := s.Find(t.Context(), Query{Name: name}); !errors.Is(err, ErrNoRancher) {
				t.Errorf("%d, %q: %v", status, name, err)
			}
		}
	}
}

// A cut says nothing about what kind of a cluster it is.
func TestACutIsNoAnswerAboutAClusterOfRKE(t *testing.T) {
	for _, name := range []string{"fleet-default/c-x7k2p", "c-x7k2p"} {
		r, s := open(t)
		r.Do(func() {
			r.Fault = func(req *http.Request) ranchertest.Fault {
				return ranchertest.Fault{Lost: strings.HasSuffix(req.URL.Path, "/v3/clusters/c-x7k2p")}
			}
		})
		if list, err := s.Find(t.Context(), Query{Name: name}); !unreached(err) {
			t.Errorf("%s: %v %v", name, list, err)
		}
	}
}

// The text of an object is what people write: what the server keeps changes all the
// time, and would make every saved plan stale.
func TestTheTextIsWithoutWhatTheServerKeeps(t *testing.T) {
	r, s := open(t)
	before := find(t, s, "fleet-default/orchard")
	for _, part := range []string{"managedFields", "resourceVersion", "status", `"generation"`} {
		if strings.Contains(string(before.Text), part) {
			t.Errorf("the text has %s:\n%s", part, before.Text)
		}
	}
	if !strings.Contains(string(before.Text), `"additionalManifest": "a: \u003cb\u003e \u0026 c\n"`) {
		t.Errorf("a value is not the text that the server wrote:\n%s", before.Text)
	}
	r.Edit(orchard, func(o map[string]any) { o["status"] = map[string]any{"ready": false} })
	after := find(t, s, "fleet-default/orchard")
	if string(after.Text) != string(before.Text) || after.ResourceVersion == before.ResourceVersion {
		t.Errorf("a status makes it another text:\n%s", after.Text)
	}
}

func TestWhatAnswersIsARancherOrAnError(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault ranchertest.Fault
		want  string
		is    func(error) bool
	}{
		{"no credentials", ranchertest.Fault{Status: 401}, "for one cluster only", denied},
		{"no right", ranchertest.Fault{Status: 403}, "list clusters.provisioning.cattle.io", denied},
		{"no Rancher", ranchertest.Fault{Status: 404}, "knows no clusters of Rancher", func(err error) bool { return errors.Is(err, ErrNoRancher) }},
		{"a login page elsewhere", ranchertest.Fault{Status: 302, Location: "https://login.example.com/sso?token=abcdefgh"}, "https://login.example.com/sso, which is not followed", failed},
		{"a page", ranchertest.Fault{Status: 200, Body: "<html>"}, "no ClusterList", unreached},
		{"an overloaded server", ranchertest.Fault{Status: 503}, "503", unreached},
		{"a cut", ranchertest.Fault{Lost: true}, "check the network", unreached},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, s := open(t)
			r.Do(func() { r.Fault = func(*http.Request) ranchertest.Fault { return c.fault } })
			_, err := s.Find(t.Context(), Query{})
			if err == nil || !strings.Contains(err.Error(), c.want) || !c.is(err) || strings.Contains(err.Error(), "abcdefgh") {
				t.Errorf("%T %v", err, err)
			}
		})
	}
}

func denied(err error) bool    { return errors.As(err, new(*kubeapi.Denied)) }
func failed(err error) bool    { return errors.As(err, new(*kubeapi.Failure)) }
func unreached(err error) bool { return errors.As(err, new(*kubeapi.Unreached)) }

func TestAnotherClusterIsReachedThroughRancherAlone(t *testing.T) {
	r, s := open(t)
	r.Do(func() {
		r.Downstream["c-m-8kqlhbsd"] = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.Write([]byte(`{"kind":"Path","path":"` + req.URL.Path + `"}`))
		})
	})
	c, err := s.Downstream("c-m-8kqlhbsd")
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Do(t.Context(), kubeapi.Request{What: "get the version", Method: http.MethodGet, Path: "/version"})
	if err != nil || !strings.Contains(string(a.Body), `"/version"`) {
		t.Errorf("%v %s", err, a.Body)
	}
	direct := &Server{local: &kubeapi.Client{}}
	if _, err := direct.Downstream("c-m-8kqlhbsd"); err == nil || !strings.Contains(err.Error(), "--rancher-url") {
		t.Errorf("%v", err)
	}
}
