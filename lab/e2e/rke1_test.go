// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/aws"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rke1"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The provider's settings go from RKE's block to the text of customCloudProvider and to the Secret that the
// chart mounts. The leader moves on from machine to machine, as with RKE2.
func TestStagesOfAnRKE1Cluster(t *testing.T) {
	s := begin(t, "cp-1", "cp-2", "cp-3")
	s.agent.Pause = s.cluster.Timing.Takeover() + time.Second
	s.migrate(s.alongRKE1(transform.Target{}))
	s.keptGroups()
	s.end("rke1")
}

// A manager whose controllers have other names waits all the same, with the configuration that the chart
// mounts from its ConfigMap.
func TestStagesOfAnRKE1ClusterWithANewerManager(t *testing.T) {
	s := begin(t, "cp-1", "cp-2", "cp-3")
	s.migrate(s.alongRKE1(newerTarget))
	s.keptGroups()
	s.end("rke1-newer-ccm")
}

// newerTarget asks for a manager whose controllers have other names.
var newerTarget = transform.Target{LeaderMigrationConfig: transform.ConfigGenerate, ImageTag: "v1.28.1"}

// alongRKE1 is one cluster.yml after the other, and with it what an operator does.
func (s *scenario) alongRKE1(target transform.Target) route {
	s.Helper()
	plan := planOf(s.T, rke1.Format(), document(s.T, "rke1.yml"), target)
	o := &operator{scenario: s}
	wanted := func(doc *yamledit.Document) agent.Wanted {
		if s.file != "" {
			assert.NilError(s, os.WriteFile(s.file, doc.Bytes(), 0o600))
		}
		w := assert.Value(agent.FromRKE1(doc, o.related, o.host()))(s)
		return w
	}
	return route{wanted(plan.Start[0]), o.transitions(plan, wanted)}
}

// The manager's container is docker's, and cluster.yml has its arguments.
func TestOwnersOfAnRKE1ClusterAreKnownByItsFile(t *testing.T) {
	if soaks() {
		t.Skip("is the same with the default timings")
	}
	s := begin(t, "cp-1")
	s.docker, s.file = true, filepath.Join(t.TempDir(), "cluster.yml")
	s.kubelets(s.join())
	all := s.alongRKE1(transform.Target{})
	s.rollOut(all.start)
	s.eventually("an owner", func(context.Context) bool { return s.owner() == cluster.KCM })
	end := s.owning("--arguments-from", s.file)
	for _, tr := range all.transitions {
		time.Sleep(3 * time.Second)
		s.forward(tr)
	}
	time.Sleep(3 * time.Second)
	printed, truth := end()
	// Its lease alone shows that a manager of docker has ended: twice here.
	late := math.Abs(truth[0] - printed.Seconds["0"])
	if unknown, known := printed.Seconds["unknown"], printed.Seconds["0"]+printed.Seconds["1"]; unknown > known/10 || late > (2*s.cluster.Timing.Lease+3*s.slack()).Seconds() || printed.Seconds["2"] > 0 {
		t.Errorf("known for %.1f s, unknown for %.1f s, %.1f s off", known, unknown, late)
	}
	if len(printed.Arguments) == 0 || printed.Arguments[0].From != s.file {
		t.Errorf("%+v", printed.Arguments)
	}
	s.neverTwo()
	s.end("rke1-owners")
}

// keptGroups requires that no manager opened the security group of the nodes for a load balancer, which
// the provider's settings forbid and both managers do when they lack them.
func (s *scenario) keptGroups() {
	s.Helper()
	for _, c := range s.cluster.AWS.Writes() {
		if c.Action == "AuthorizeSecurityGroupIngress" && c.Target == aws.NodeGroup {
			s.Errorf("%s opened the security group of the nodes: it had lost the provider's settings", c.Caller)
		}
	}
}
