// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// wharf is a cluster with what a report has to hide, and a value that is set twice.
const wharf = `apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata:
  name: wharf
  namespace: fleet-default
spec:
  kubernetesVersion: v1.26.15+rke2r1
  rkeConfig:
    machineGlobalConfig:
      cloud-provider-name: aws
      agent-token: hunter2hunter2
      kube-controller-manager-arg:
      - v=2
    machineSelectorConfig:
    - config:
        cloud-provider-name: aws
        unknown-key: x
    machinePools:
    - name: servers
      quantity: 1
      controlPlaneRole: true
      etcdRole: true
      workerRole: true
`

func document(t *testing.T, text string) *yamledit.Document {
	t.Helper()
	return assert.Value(yamledit.ParseString("clusters/wharf.yaml", text))(t)
}

// renaming is an end state whose switch is blocked until it is accepted.
var renaming = transform.Target{EndState: transform.EndStateExternal}

// planned is the plan of a cluster.
func planned(t *testing.T, target transform.Target) *plan.Plan {
	t.Helper()
	return assert.Value(plan.Build(rke2.Format(), transform.Only(document(t, wharf)), target))(t)
}

// contains expects that a text has each of some parts, in their order, and no secret.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		assert.Mustf(t, found, "no %q, or not there, in\n%s", part, text)
		rest = after
	}
	assert.Truef(t, !strings.Contains(text, "hunter2"), "a secret is shown:\n%s", text)
}

// written is what is written to a buffer.
func written(write func(*bytes.Buffer)) string {
	var b bytes.Buffer
	write(&b)
	return b.String()
}

// ofPlan is what a plan is shown as.
func ofPlan(p Plan, width int, all bool) string {
	return written(func(b *bytes.Buffer) {
		NewCollector(&Output{Out: b, Palette: Palette{Width: width}}, Results{}).WritePlan(p, all)
	})
}

func TestAPlanShowsItsStagesThenWhatEachChanges(t *testing.T) {
	contains(t, ofPlan(NewPlan(planned(t, renaming), "", false), 0, true),
		"rke2 fleet-default/wharf  v1.26.15+rke2r1  clusters/wharf.yaml:1\n",
		"provider: aws  situation: in-tree\n", " 1  grant-migration-lease     to do    -           -\n", " 5  switch-to-external        blocked  16 to 20 s  rke2-server\n",
		"grant-migration-lease  to do\n", "--- a/clusters/wharf.yaml\n+++ b/clusters/wharf.yaml\n", "+ ",
		"install-ccm  to do\n", "  before it, ", "--out and -o json have",
		"switch-to-external  blocked\n", "  error node-rename  clusters/wharf.yaml:", "→ ")
}

// The decision comes first: what blocks a later stage is above the diff of the next one.
func TestThePlanOfAClusterShowsWhatBlocksItAndTheNextStage(t *testing.T) {
	text := ofPlan(NewPlan(planned(t, renaming), "", false), 80, false)
	contains(t, text, " 5  switch-to-external        blocked  16 to 20 s  rke2-server\n",
		"\nswitch-to-external  blocked: node-rename, line ",
		"\ngrant-migration-lease  to do\n", "  after it: rke-lm verify --stage grant-migration-lease --context CONTEXT\n", "\n+++ b/clusters/wharf.yaml\n")
	assert.Truef(t, !strings.Contains(text, "kubectl") && !strings.Contains(text, "\ninstall-ccm  to do") && strings.Count(text, "\n") <= 79, "%d lines\n%s", strings.Count(text, "\n"), text)
	contains(t, ofPlan(NewPlan(planned(t, transform.Target{}), "", false), 0, false), "end state: aws-override (external renames nodes); --end-state changes it")
}

func TestAnErrorThatBlocksSeveralStagesNamesTheFirst(t *testing.T) {
	plan := NewPlan(planned(t, renaming), "", false)
	plan.Stages[1].Findings, plan.Stages[2].Findings = plan.Stages[4].Findings, plan.Stages[4].Findings
	contains(t, written(func(b *bytes.Buffer) { writeBlocked(b, Palette{}, plan) }), plan.Stages[1].Name+" and 2 more  blocked: node-rename, line ")
}

func TestTheWordOfAStageThatTheFileDoesNotShowIsThatOfItsCount(t *testing.T) {
	for count, want := range map[plan.Count]string{plan.CountManual: "manual", plan.CountDone: "done", "": "skipped"} {
		assert.Equal(t, (Stage{State: plan.NotInFile, Count: count}).Word(), want, count)
	}
}

func TestAPlanOfOneStageShowsNoOther(t *testing.T) {
	p := NewPlan(planned(t, renaming), stages.EnableLeaderMigration, false)
	assert.True(t, len(p.Stages) == 1 && p.Stages[0].Name == stages.EnableLeaderMigration && p.Stages[0].Diff != "" && len(p.Stages[0].Edits) != 0, p.Stages)
	assert.Truef(t, p.Source.File == "clusters/wharf.yaml" && p.Source.Line == 1 && len(p.SHA256) == 64, "%+v %s", p.Source, p.SHA256)
}

func TestFindingsOfALiveClusterComeBeforeItsStages(t *testing.T) {
	p := NewPlan(planned(t, renaming), "", false)
	p.Findings = []transform.Finding{{Rule: "managed-elsewhere", Severity: transform.Error, Path: "fleet-default/wharf metadata", Message: "Fleet manages it"}}
	p.Version = ""
	contains(t, ofPlan(p, 0, true), "release not stated", "error managed-elsewhere  fleet-default/wharf metadata\n  Fleet manages it", "\ngrant-migration-lease  to do\n")
}

func TestStatesAndSeveritiesHaveTheirColours(t *testing.T) {
	p := Palette{On: true}
	for want, got := range map[string]string{
		green: p.state(Stage{State: plan.Done}), red: p.state(Stage{State: plan.Blocked}), yellow: p.state(Stage{State: plan.Todo}), cyan: p.severity(transform.Note),
	} {
		assert.Truef(t, strings.HasPrefix(got, controlSequence(want+"m")) && strings.HasSuffix(got, controlSequence("0m")), "%s: %q", want, got)
	}
}

func TestAStageByHandShowsItsStepsAndItsChecks(t *testing.T) {
	s := plan.Step{Manual: true, Stage: transform.Stage{
		Name: "install-ccm", After: []action.Action{{Why: "install the chart", Command: "helm upgrade"}}, Verify: []action.Action{{Why: "wait", Command: "kubectl get"}},
	}}
	got := written(func(b *bytes.Buffer) { writeManual(b, Palette{}, s) })
	assert.Equal(t, got, "install-ccm  manual\n  install the chart:\n    helm upgrade\n  wait:\n    kubectl get\n")
}

func TestAClassShowsWhereEachValueComesFromAndWhatItOverrides(t *testing.T) {
	classes := assert.Value(rke2.Format().Explain(transform.Only(document(t, wharf)), transform.Target{}))(t)
	e := EffectiveConfig{Name: "wharf", Namespace: "fleet-default", Format: "rke2", Source: Source{File: "clusters/wharf.yaml", Line: 1}}
	e.Classes = lists.Map(classes, func(c transform.MachineClass) Class { return NewClass(c, "") })
	contains(t, written(func(b *bytes.Buffer) { writeEffective(b, Palette{}, e) }), "rke2 fleet-default/wharf  clusters/wharf.yaml:1\n", "class servers (control-plane, etcd, worker)\n", "cloud-provider-name: \"aws\"\n",
		"from clusters/wharf.yaml:16 spec.rkeConfig.machineSelectorConfig[0].config.cloud-provider-name", "over clusters/wharf.yaml:10 spec.rkeConfig.machineGlobalConfig.cloud-provider-name", "unknown-key: dropped, the release does not have the key (line 17)")
	one := NewClass(classes[0], "kube-controller-manager-arg")
	got := one.Lines()
	assert.True(t, one.Any() && got == "kube-controller-manager-arg:\n  - \"v=2\"\n", got)
	assert.True(t, !NewClass(classes[0], "no-such-key").Any(), "a key that is not set")
}

func TestStatusesAreOneLineEach(t *testing.T) {
	lines := statuses(0, []Status{
		{Name: "fleet-default/wharf", Format: "rke2", Version: "v1.26.15+rke2r1", Provider: "aws", Reached: "install-ccm", Errors: 1, Warnings: 2},
		{Name: "fleet-default/pier", Problem: "missing permissions:\n list nodes"},
		{Name: "local"},
	})
	want := []string{"CLUSTER VERSION PROVIDER SITUATION REACHED FINDINGS", "fleet-default/wharf v1.26.15+rke2r1 aws - install-ccm 1 error, 2 warnings", "fleet-default/pier - - - - missing permissions: list nodes", "local - - - - -"}
	assert.EqualSlices(t, lists.Map(lines, words), want)
}
