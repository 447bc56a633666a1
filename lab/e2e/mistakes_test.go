// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/recorder"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// What follows are the mistakes that the stages are there to prevent. Each is made on purpose, on one
// control plane, to show what comes of it and what rke-lm verify says.

// mistake begins such a scenario. Its managers are shown as pods, which verify reads. The soak leaves it
// out: other timings make no other mistake of it.
func mistake(t *testing.T) *scenario {
	t.Helper()
	if soaks() {
		t.Skip("is the same with the default timings")
	}
	s := begin(t, "cp-1")
	s.kubelets(s.join())
	return s
}

// at returns what the plan requires after a stage.
func at(s *scenario, plan *plan.Plan, stage string) agent.Wanted {
	s.Helper()
	step, ok := plan.Step(stage)
	if !ok {
		s.Fatal("no stage", stage)
	}
	return s.wanted(step.Documents[0].After)
}

// until rolls out the stages that make the cloud-controller-manager wait for its turn, the last of them
// changed.
func (s *scenario) until(plan *plan.Plan, changed func(agent.Wanted) agent.Wanted) {
	s.Helper()
	s.rollOut(at(s, plan, stages.EnableLeaderMigration))
	s.gate(stages.EnableLeaderMigration)
	s.rollOut(changed(at(s, plan, stages.InstallCCM)))
	s.leads(cluster.CCM)
}

// stays requires that something holds for longer than any takeover takes.
func (s *scenario) stays(what string, holds func(context.Context) bool) {
	s.Helper()
	for end := time.Now().Add(2 * (s.cluster.Timing.Takeover() + s.slack())); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if !holds(s.Context()) {
			s.Fatalf("it did not stay so: %s\n%s", what, s.timelineText())
		}
	}
}

// unserved reports whether a Service still waits for its load balancer.
func (s *scenario) unserved(context.Context) bool {
	s.Helper()
	var names []string
	s.eventually("an answer about the Services", func(ctx context.Context) (answered bool) {
		var err error
		names, _, err = s.waiting(ctx)
		return err == nil
	})
	return len(names) > 0
}

func TestWithoutTheGrantTheCloudControllersRunNowhere(t *testing.T) {
	s := mistake(t)
	w := at(s, planned(t, document(t, "rke2.yaml")), stages.EnableLeaderMigration)
	granted := w.Manifests
	w.Manifests = nil
	s.rollOut(w)
	s.leads(cluster.KCM)
	assert.NilError(t, s.service(t.Context(), "web"))
	s.stays("the Service waits", s.unserved)
	if writes := s.cluster.AWS.Writes(); len(writes) > 0 {
		t.Errorf("AWS was written to: %v", writes)
	}
	s.faulted(stages.EnableLeaderMigration, "lease-rbac-missing", "cloud-controllers-nowhere")
	w.Manifests = granted
	s.rollOut(w)
	s.served()
	s.approved(stages.EnableLeaderMigration)
	s.end("without-grant")
}

// leads waits until a manager of the component has its main lease.
func (s *scenario) leads(component cluster.Component) {
	s.Helper()
	s.eventually(string(component)+" leads", func(context.Context) bool {
		return slices.ContainsFunc(s.cluster.Managers(), func(m *cluster.Manager) bool {
			return m.Alive() && slices.ContainsFunc(m.Acquired(), func(a cluster.Acquisition) bool { return a.Lease == string(component) })
		})
	})
}

func TestTheFlagLeftOnAnExternalManagerStarvesTheCloudControllers(t *testing.T) {
	s := mistake(t)
	plan := planned(t, document(t, "rke2.yaml"))
	s.until(plan, func(w agent.Wanted) agent.Wanted { return w })
	right := at(s, plan, stages.SwitchToExternal)
	wrong := right
	wrong.KCM = append(slices.Clone(right.KCM), "--enable-leader-migration=true")
	s.rollOut(wrong)
	s.gate(stages.SwitchToExternal)

	s.leads(cluster.KCM)
	s.eventually("the lease with the external manager", func(ctx context.Context) bool {
		if s.owner() == cluster.CCM {
			s.kill(cluster.CCM) // its pod is restarted, as any pod is one day, and may be the first again
		}
		return s.holder(ctx) == cluster.KCM
	})
	assert.NilError(t, s.service(t.Context(), "web"))
	s.stays("the Service waits", s.unserved)
	s.faulted(stages.SwitchToExternal, "lease-wrong-holder")

	s.rollOut(right)
	s.served()
	s.approved(stages.SwitchToExternal)
	s.end("flag-left")
}

// kill ends the running managers of a component; the agent starts them again.
func (s *scenario) kill(component cluster.Component) {
	for _, m := range s.cluster.Managers() {
		if m.Component == component && m.Alive() {
			m.Kill()
		}
	}
}

func TestWithoutLeaderMigrationThereAreTwoOwners(t *testing.T) {
	s := mistake(t)
	doc := document(t, "rke2.yaml")
	plan := plannedFor(t, doc, transform.Target{EndState: transform.EndStateExternal, Accept: []string{"node-rename"}, NoLeaderMigration: true})
	s.rollOut(s.wanted(doc))
	s.leads(cluster.KCM)
	s.rollOut(at(s, plan, stages.InstallCCM))
	s.twoOwners()
	s.faulted(stages.InstallCCM, "cloud-controllers-twice")
	s.rollOut(at(s, plan, stages.SwitchToExternal))
	s.served()
	s.end("no-leader-migration")
}

// twoOwners requires that two managers own the Services, and that both write for one of them.
func (s *scenario) twoOwners() {
	s.Helper()
	s.leads(cluster.CCM)
	assert.NilError(s, s.service(s.Context(), "web"))
	s.eventually("writes of both managers", func(context.Context) bool { return len(recorder.Writers(s.cluster.AWS.Writes())) > 1 })
	if _, _, two := recorder.Seconds(s.timeline(recorder.Service, s.began)); two == 0 {
		s.Error("the timeline shows no two owners\n" + s.timelineText())
	}
}

func TestRoutesLeftOnEndTheManagerWhenItTakesOver(t *testing.T) {
	s := mistake(t)
	plan := planned(t, document(t, "rke2.yaml"))
	s.until(plan, routed)
	s.stays("it looks healthy", func(context.Context) bool { return s.agent.Restarts(cluster.CCM) == 0 })
	s.faulted(stages.InstallCCM, "ccm-args-unsafe")
	s.rollOut(routed(at(s, plan, stages.SwitchToExternal)))
	s.eventually("the manager's end", func(context.Context) bool { return s.agent.Restarts(cluster.CCM) > 0 })
	if !s.logged(cluster.CCM, "invalid CIDR[0]: <nil>") {
		t.Error("the manager ended for another reason")
	}
	s.faulted(stages.SwitchToExternal, "daemonset-restarting")
	assert.NilError(t, s.service(t.Context(), "web"))
	s.rollOut(at(s, plan, stages.SwitchToExternal))
	s.served()
	s.approved(stages.SwitchToExternal)
	s.end("routes-left-on")
}

// logged reports whether a manager of the component has written a text.
func (s *scenario) logged(component cluster.Component, text string) bool {
	return slices.ContainsFunc(s.cluster.Managers(), func(m *cluster.Manager) bool {
		return m.Component == component && m.Logged(text)
	})
}
