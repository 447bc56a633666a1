// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform"
)

// trouble is what happens to a cluster during an observation.
type trouble struct {
	name    string
	strike  func(*testing.T, *apitest.Server)
	heal    func(*testing.T, *apitest.Server)
	code    int    // where it does not pass
	message string // the same
}

const observeNetwork, observeServer = "check the network and the API server, and run the command again", "check the API server, and run the command again"

// fails is a trouble of the requests whose URL has a part. Those of verify and
// owners have the leases in common.
func fails(name, part string, f apitest.Fault, code int, message string) trouble {
	return trouble{
		name:   name,
		strike: func(_ *testing.T, s *apitest.Server) { s.Do(func() { s.Fault = on(part, f) }) },
		heal:   func(_ *testing.T, s *apitest.Server) { s.Do(func() { s.Fault = nil }) },
		code:   code, message: message,
	}
}

func troubles() []trouble {
	return []trouble{
		{"a server that is gone", func(_ *testing.T, s *apitest.Server) { s.Down() }, func(t *testing.T, s *apitest.Server) { s.Up(t) }, transform.ExitFailed, observeNetwork},
		{"a certificate of another name", func(_ *testing.T, s *apitest.Server) { s.Rename(true) }, func(_ *testing.T, s *apitest.Server) { s.Rename(false) }, transform.ExitFailed, "check the address and the certificate authority of the cluster"},
		fails("connections that are reset", "", apitest.Fault{Reset: true}, transform.ExitFailed, observeNetwork),
		fails("a cut in the middle of answers", "", apitest.Fault{Cut: true}, transform.ExitFailed, observeNetwork),
		fails("too many requests", "", apitest.Fault{Status: 429, RetryAfter: "1"}, transform.ExitFailed, observeServer),
		fails("a storm of errors", "", apitest.Fault{Status: 500}, transform.ExitFailed, observeServer),
		fails("a server that is not ready", "/leases", apitest.Fault{Status: 503, Body: "upstream connect error"}, transform.ExitFailed, observeServer),
		fails("a list that expires", "/leases", apitest.Fault{Status: 410}, transform.ExitFailed, observeServer),
		fails("an expired token", "", apitest.Fault{Status: 401}, transform.ExitRefused, "expired"),
		fails("a right that is taken away", "/daemonsets", apitest.Fault{Status: 403}, transform.ExitRefused, "missing permissions: list daemonsets.apps in kube-system; request them"),
		fails("the page of a proxy", "", apitest.Fault{Status: 200, Body: "<html>log in</html>"}, transform.ExitFailed, observeNetwork),
		fails("a proxy that has lost its way", "", apitest.Fault{Status: 404, Body: "<html>no backend</html>"}, transform.ExitFailed, observeServer),
	}
}

// pageTroubles happen to long lists, which verify alone reads.
func pageTroubles() []trouble {
	return []trouble{
		fails("a cut in the second page", "continue=500", apitest.Fault{Cut: true}, transform.ExitFailed, observeNetwork),
		fails("a list of nodes that expires", "/nodes", apitest.Fault{Status: 410}, transform.ExitFailed, "list nodes: the API server answers 410: Gone; "+observeServer),
		fails("an error between two pages", "continue=500", apitest.Fault{Status: 502, Body: "<html>bad gateway</html>"}, transform.ExitFailed, observeServer),
		fails("a token that expires between two pages", "continue=500", apitest.Fault{Status: 401}, transform.ExitRefused, "log in again"),
		fails("a right on volumes that is taken away", "/persistentvolumes", apitest.Fault{Status: 403}, transform.ExitRefused, "list persistentvolumes"),
	}
}

// aFew looks at the leases show owners who owns the controllers.
func aFew(s *apitest.Server) bool { return s.Count("/leases") >= 4 }

// notes is what a run says while it runs.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (n *notes) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(b)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// evaluated is when verify has printed the error that it is to wait for the end of.
func (n *notes) evaluated(*apitest.Server) bool { return strings.Contains(n.String(), "errors: 1\n") }

// verify runs the verb on a cluster that has an error, for some time.
func (n *notes) verify(config, wait string) ran {
	var out bytes.Buffer
	args := "verify --stage install-ccm --kubeconfig " + config + " --wait " + wait
	code := execute(context.Background(), strings.Fields(args), streams{in: strings.NewReader(""), out: &out, err: n, network: memnet.Dial})
	return ran{out.String(), n.String(), code}
}

// befallen is a cluster that is seen well, has a trouble, and may lose it again.
type befallen struct {
	*apitest.Server
	config string
	over   context.CancelFunc
	ended  sync.WaitGroup
}

// duringTrouble lets a trouble begin once the cluster was seen well.
func duringTrouble(t *testing.T, c trouble, seen func(*apitest.Server) bool, during func(*apitest.Server), length time.Duration) *befallen {
	t.Helper()
	s := apitest.StartTLS(t)
	s.Fill(520)
	ctx, cancel := context.WithCancel(t.Context())
	b := &befallen{Server: s, config: s.Kubeconfig(t), over: cancel}
	t.Cleanup(b.end)
	b.ended.Go(func() {
		kube.Pause(ctx, 5*time.Millisecond) // so it never happens at the time of an observation
		for !seen(s) {
			if !kube.Pause(ctx, 10*time.Millisecond) && !seen(s) {
				t.Errorf("%s: it was over before it began", c.name)
				return
			}
		}
		s.Do(func() { during(s) })
		c.strike(t, s)
		if length > 0 && kube.Pause(ctx, length) {
			c.heal(t, s)
		}
	})
	return b
}

// end waits for the trouble to be over, when no one looks any more.
func (b *befallen) end() {
	b.over()
	b.ended.Wait()
}

// eachTrouble runs something for every trouble, with a clock of its own.
func eachTrouble(t *testing.T, list []trouble, run func(*testing.T, trouble)) {
	t.Helper()
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { run(t, c) })
		})
	}
}

// firstObservations lets a trouble happen to a server that was seen well for two seconds, in which owners looks four times.
func firstObservations(s *apitest.Server, trouble func() apitest.Fault) func(*http.Request) apitest.Fault {
	observations := 0
	return func(r *http.Request) apitest.Fault {
		if strings.Contains(r.URL.Path, "/leases") {
			observations++
		}
		if observations <= 5 {
			return apitest.Fault{}
		}
		return trouble()
	}
}
