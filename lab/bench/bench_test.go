// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// A kubelet's node is about 15 kB, of which the API server adds some for who manages what.
func TestANodeIsAsLargeAsARealOne(t *testing.T) {
	text, err := json.Marshal(node(4711))
	if err != nil || len(text) < 11_000 || len(text) > 15_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestNodesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for i := range 5000 {
		n := node(i)
		seen[n.Name], seen[n.Spec.ProviderID] = true, true
	}
	if len(seen) != 10_000 {
		t.Errorf("%d names and provider IDs", len(seen))
	}
}

func TestTheProxyCountsWhatPasses(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer ours" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		w.Write(make([]byte, 1000))
	}))
	defer server.Close()
	p := assert.Value(startProxy(&rest.Config{Host: server.URL, BearerToken: "not-the-proxy's", TLSClientConfig: rest.TLSClientConfig{CAData: authority(server.Certificate().Raw)}}))(t)
	defer p.Close()
	for range 3 {
		r := assert.Value(http.NewRequest(http.MethodGet, p.URL+"/api/v1/nodes", nil))(t)
		r.Header.Set("Authorization", "Bearer ours")
		res, err := p.Client().Do(r)
		if err != nil || res.StatusCode != http.StatusOK || res.ProtoMajor != 2 {
			t.Fatalf("%v, %v", res, err)
		}
		var body bytes.Buffer
		body.ReadFrom(res.Body)
		res.Body.Close()
	}
	if p.requests.Load() != 3 || p.bytes.Load() != 3000 {
		t.Errorf("%d requests, %d bytes", p.requests.Load(), p.bytes.Load())
	}
}

func TestAPipeFailsWithItsFirstProgram(t *testing.T) {
	for script, want := range map[string]string{"printf 'a\\nb\\n'": "b\n", "echo b; exit 3": ""} {
		var out bytes.Buffer
		first, last := exec.Command("sh", "-c", script), exec.Command("grep", "b")
		last.Stdout = &out
		err := pipe([]*exec.Cmd{first, last})
		if failed := want == ""; failed != (err != nil) || !failed && out.String() != want {
			t.Errorf("%s: %q, %v", script, out.String(), err)
		}
	}
}

// A command that found less is not faster.
func TestWhatIsNotFoundIsAnError(t *testing.T) {
	const one = "ProviderID: aws:///eu-west-1a/i-1\n"
	for _, c := range []struct {
		finds map[string]int
		out   string
		right bool
	}{
		{eachNode(2), one + one, true},
		{eachNode(2), one, false},
		{inVerdict(2), "1 of 2 nodes", false},
		{inVerdict(2), "2 of 2 nodes", true},
		{eachCluster(2), "fleet-default/a v1\nfleet-default/b v1\nfleet-local/local\n", true},
		{eachCluster(2), "NAME\nfleet-default/a v1\n", false},
	} {
		if err := (&row{finds: c.finds}).check(c.out); (err == nil) != c.right {
			t.Errorf("%q: %v", c.out, err)
		}
	}
}

func TestTheTableSaysWhatEachRowCosts(t *testing.T) {
	took := func(name string, seconds float64) *row {
		return &row{name: name, costs: []cost{{wall: time.Duration(seconds * float64(time.Second)), cpu: time.Second, memory: 50e6}}}
	}
	ours := took("ours", 2)
	text := table("5 nodes", costs(ours), []*row{ours, took("theirs", 7), {name: "left out"}}, atMost("memory", 100, ours.megabytes()), atLeast("theirs", 5, 3.5))
	for _, want := range []string{"5 nodes   time", "  theirs  7.00 s  1.00 s  50 MB   3.50", "memory: 50, at most 100: met", "theirs: 3.5, at least 5: NOT met"} {
		if !strings.Contains(text, want) || strings.Contains(text, "left out") {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
