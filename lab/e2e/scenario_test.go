// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/recorder"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// controlPlanes is the machine class of the control planes in testdata.
const controlPlanes = "control-plane"

// scenario is a cluster with its agent and everything that watches them.
type scenario struct {
	*testing.T
	cluster  *cluster.Cluster
	client   *kubernetes.Clientset
	agent    *agent.Agent
	recorder *recorder.Recorder
	began    time.Time
	ended    bool          // its last line is due
	external bool          // what kubelets are configured for now
	machines int           // launched so far
	left     int           // of them, those that a cloud-controller-manager has to initialise
	timeout  time.Duration // of what is to come: two takeovers, and more on a busy machine
	pulse    pulse
	space    string                 // the namespace of the cloud-controller-manager's pods; "" means kube-system
	docker   bool                   // runs kube-controller-manager, outside of pods
	file     string                 // where the cluster's file is written before machines follow it; "" for nowhere
	chartPod atomic.Pointer[string] // the name of the pod that a DaemonSet made for the cloud-controller-manager, if one did
}

// begin starts a cluster with the given control planes; no manager runs yet.
func begin(t *testing.T, machines ...string) *scenario {
	t.Helper()
	timing := cluster.Short
	if soaks() {
		timing = cluster.Defaults
	}
	return beginWith(t, timing, machines...)
}

// beginWith begins with other timings of leader election.
func beginWith(t *testing.T, timing cluster.Timing, machines ...string) *scenario {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real control planes")
	}
	t.Parallel() // it is mostly waiting
	c := assert.Value(cluster.Start(t.Context(), folder(t), cluster.LastInTree, timing))(t)
	t.Cleanup(c.Stop)
	explain(t, c.LogTail)
	s := &scenario{T: t, cluster: c, agent: agent.New(c, machines...), began: time.Now()}
	t.Cleanup(s.agent.Stop)
	s.record()
	return s
}

// owes makes a test fail that passes without its last line.
func (s *scenario) owes() {
	s.Cleanup(func() {
		if !s.ended && !s.Failed() {
			s.Error("the scenario has no last line")
		}
	})
}

// record begins to watch the cluster, until the test ends.
func (s *scenario) record() {
	s.Helper()
	s.owes()
	s.timeout = 2*s.cluster.Timing.Takeover() + cluster.ReadyTimeout
	var err error
	if s.client, err = s.cluster.Client(cluster.Admin); err != nil {
		s.Fatal(err)
	}
	if s.recorder, err = recorder.Start(context.Background(), s.client); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = s.recorder.Stop() })
	s.feel()
}

// explain prints why a test has failed, as far as the programs that it started can tell. Their logs end with
// the test.
func explain(t *testing.T, logTail func() string) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("the ends of the programs' logs:\n" + logTail())
		}
	})
}

// folder is where the scenario's logs go: below LAB_LOGS, where they are kept, or a folder that goes with
// the test.
func folder(t *testing.T) string {
	if kept := os.Getenv("LAB_LOGS"); kept != "" {
		return filepath.Join(kept, fmt.Sprintf("%s-%d", t.Name(), time.Now().Unix()))
	}
	return t.TempDir()
}

// document reads a cluster from testdata.
func document(t *testing.T, name string) *yamledit.Document {
	t.Helper()
	return inPlace(t, name, "", "")
}

// inPlace is the same with another line in place of one.
func inPlace(t *testing.T, name, line, by string) *yamledit.Document {
	t.Helper()
	text := assert.Value(os.ReadFile(filepath.Join("testdata", name)))(t)
	doc := assert.Value(yamledit.ParseString(name, strings.Replace(string(text), line, by, 1)))(t)
	return doc
}

// planned returns the stages of an RKE2 cluster as rke-lm plans them.
func planned(t *testing.T, doc *yamledit.Document) *plan.Plan {
	t.Helper()
	return plannedFor(t, doc, transform.Target{EndState: transform.EndStateExternal, Accept: []string{"node-rename"}})
}

// plannedFor returns the stages of an RKE2 cluster for an operator's choices.
func plannedFor(t *testing.T, doc *yamledit.Document, target transform.Target) *plan.Plan {
	t.Helper()
	return planOf(t, rke2.Format(), doc, target)
}

// planOf returns the stages of a document of any format.
func planOf(t *testing.T, format transform.Format, doc *yamledit.Document, target transform.Target) *plan.Plan {
	t.Helper()
	plan := assert.Value(plan.Build(format, transform.Only(doc), target))(t)
	return plan
}

// wanted reads what a document requires.
func (s *scenario) wanted(doc *yamledit.Document) agent.Wanted {
	s.Helper()
	w := assert.Value(agent.FromRKE2(doc, controlPlanes))(s)
	return w
}

// rollOut makes the control planes follow.
func (s *scenario) rollOut(w agent.Wanted) {
	s.Helper()
	assert.NilError(s, s.agent.RollOut(s.Context(), w))
}

// eventually waits until something holds, until the timeout of the scenario.
func (s *scenario) eventually(what string, holds func(context.Context) bool) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), s.timeout)
	defer cancel()
	for !holds(ctx) {
		select {
		case <-ctx.Done():
			s.Fatalf("never came: %s\n%s", what, s.timelineText())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// holder returns the component that holds the migration lease: its record has the identity of that
// component's main lease. Whether the record is live is for the timeline to say.
func (s *scenario) holder(ctx context.Context) cluster.Component {
	of := func(lease string) string {
		l, err := s.client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, lease, metav1.GetOptions{})
		if err != nil || l.Spec.HolderIdentity == nil {
			return ""
		}
		return *l.Spec.HolderIdentity
	}
	migration := of(leadermigration.Lease)
	for _, c := range []cluster.Component{cluster.KCM, cluster.CCM} {
		if migration != "" && migration == of(string(c)) {
			return c
		}
	}
	return ""
}

// timeline returns who owned a controller since the scenario began, or since a later time.
func (s *scenario) timeline(controller string, from time.Time) []recorder.Interval {
	s.Helper()
	var processes []recorder.Process
	for _, m := range s.cluster.Managers() {
		p := assert.Value(recorder.Describe(m))(s)
		processes = append(processes, p)
	}
	timeline := assert.Value(recorder.Timeline(s.recorder.Changes(), processes, controller, from, time.Now()))(s)
	return timeline
}

// timelineText is the timeline of the service controller, for people.
func (s *scenario) timelineText() string {
	return recorder.String(s.timeline(recorder.Service, s.began))
}

// end prints the last line of a scenario that has passed. One without a cluster had no owner to watch.
func (s *scenario) end(name string) {
	s.Helper()
	s.ended = true
	var timeline []recorder.Interval
	if s.recorder != nil {
		s.Logf("who owned the service controller\n%s", s.timelineText())
		if err := s.recorder.Stop(); err != nil {
			s.Error(err)
		}
		timeline = s.timeline(recorder.Service, s.began)
	}
	if !s.Failed() {
		fmt.Println(recorder.Line(name, timeline))
	}
}
