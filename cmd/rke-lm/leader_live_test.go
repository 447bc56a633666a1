// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform"
)

const ownLease = "cloud-controller-manager"

// finished gives a server a cluster after the last edit, whose cloud-controller-manager
// leads.
func finished(t *testing.T) (*apitest.Server, string) {
	t.Helper()
	s := apitest.Start(t)
	s.Fill(3)
	without := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(a string) bool { return strings.HasPrefix(a, "--enable-leader-migration") })
	}
	for i := range s.Pods {
		c := &s.Pods[i].Spec.Containers[0]
		if c.Args = without(c.Args); c.Name == "kube-controller-manager" {
			c.Args = append(c.Args, "--cloud-provider=external")
		}
	}
	c := &s.DaemonSets[0].Spec.Template.Spec.Containers[0]
	c.Args = without(c.Args)
	s.Hold("cloud-provider-extraction-migration", apitest.NodeName(1)+"_9c44") // who led before the last edit
	delete(s.Renews, "cloud-provider-extraction-migration")
	return s, s.Kubeconfig(t)
}

// No manager releases its lease when it exits: what is waited for is the next leader.
func TestVerifyFollowsTheLeaderOfAFinishedCluster(t *testing.T) {
	for name, c := range map[string]struct {
		next   time.Duration // until a manager leads; 0 for never
		change func(*apitest.Server)
		code   int
		want   string
		least  time.Duration
	}{
		"one that leads":          {0, func(*apitest.Server) {}, transform.ExitDone, "ok\n", 0},
		"a takeover":              {17 * time.Second, dies, transform.ExitDone, "ok\n", 17 * time.Second},
		"no one takes over":       {0, dies, transform.ExitFound, "error leader-missing", 30 * time.Second},
		"no one ever led":         {0, neverLed, transform.ExitFound, "error leader-missing", 30 * time.Second},
		"it may not lock its own": {0, func(s *apitest.Server) { s.Denied["system:serviceaccount:kube-system:"+ownLease] = true }, transform.ExitFound, "error lease-rbac-missing", 0},
		"no manager at all":       {0, func(s *apitest.Server) { s.DaemonSets = nil; onlyExternal(s) }, transform.ExitFound, "error ccm-removed", 0},
	} {
		for _, stage := range []string{"", " --stage disable-leader-migration", " --stage verify-provider-ids"} {
			t.Run(name+stage, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s, config := finished(t)
					c.change(s)
					if c.next > 0 {
						time.AfterFunc(c.next, func() { s.Do(func() { s.Hold(ownLease, apitest.NodeName(2)+"_2d91") }) })
					}
					start := time.Now()
					shows(t, c.code, "verify --kubeconfig "+config+stage, c.want)
					took := time.Since(start)
					assert.Truef(t, took >= c.least && took <= time.Minute, "it took %s", took)
				})
			})
		}
	}
}

// dies is a leader that is gone, and whose record is still there.
func dies(s *apitest.Server) { delete(s.Renews, ownLease) }

func neverLed(s *apitest.Server) {
	s.Leases = slices.DeleteFunc(s.Leases, func(l coordinationv1.Lease) bool { return l.Name == ownLease })
}

// onlyExternal leaves kube-controller-manager alone, and external.
func onlyExternal(s *apitest.Server) {
	neverLed(s)
	kept := s.Pods[:0]
	for _, p := range s.Pods {
		if c := &p.Spec.Containers[0]; c.Name == "kube-controller-manager" {
			c.Args = []string{"--cloud-provider=external"}
			kept = append(kept, p)
		}
	}
	s.Pods = kept
}

// Status counts a cluster that has no manager at all as one with an error, and not as one that is done.
func TestStatusReportsAClusterWhoseManagerIsRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := finished(t)
		removed, config := finished(t)
		removed.DaemonSets = nil
		onlyExternal(removed)
		shows(t, transform.ExitDone, "status --kubeconfig "+s.Kubeconfig(t), " -\n")
		shows(t, transform.ExitDone, "status --kubeconfig "+config, " 1 error\n")
		shows(t, transform.ExitDone, "status -o json --kubeconfig "+config, `"errors": 1`, `"provider": "external"`)
	})
}

// Clusters are looked at together, so one without a leader takes as long as many.
func TestStatusFollowsTheLeadersOfAllClustersAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := finished(t)
		lost, _ := finished(t)
		dies(lost)
		config := contexts(t, s, 12, map[int]string{3: lost.URL(), 7: lost.URL(), 9: lost.URL()})
		start := time.Now()
		r := runHere(t, "", "status", "--kubeconfig", config)
		took := time.Since(start)
		assert.Truef(t, took >= 30*time.Second && took <= time.Minute, "it took %s", took)
		lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
		assert.Mustf(t, r.code == transform.ExitDone && len(lines) == 13, "exit %d\n%s%s", r.code, r.stdout, r.stderr)
		for i, line := range lines[1:] {
			leaderless := i == 3 || i == 7 || i == 9
			assert.True(t, strings.HasSuffix(line, " 1 error") == leaderless && strings.HasSuffix(line, " -") != leaderless, line)
		}
	})
}
