// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestAVerdictNamesTheLeaseTheNodesAndWhatIsWrong(t *testing.T) {
	stops := transform.Finding{Rule: "lease-wrong-holder", Severity: transform.Error, Path: "kube-system/lease", Message: "the wrong manager holds it, token=hunter2", Fix: "wait"}
	for name, c := range map[string]struct {
		choice  check.Choice
		verdict check.Verdict
		want    []string
	}{
		"ok": {check.Choice{}, check.Verdict{Reached: "install-ccm", Nodes: []check.Node{{Name: "a", OK: true}}, Lease: check.Lease{Name: "l", Holder: "a_1", Owner: "kube-controller-manager", Life: observed.Live}},
			[]string{"Kubernetes        v1.26.15", "stage reached     install-ccm", "migration lease   kube-controller-manager (live)", "nodes             1 of 1 ok", "\nok\n"}},
		"a finding that stops": {check.Choice{}, check.Verdict{Nodes: []check.Node{{Name: "a"}, {Name: "b", OK: true}}, Findings: []transform.Finding{stops}, Lease: check.Lease{Holder: "a_1", Owner: "kube-controller-manager", Life: observed.Dead}},
			[]string{"stage reached     none", "neither manager: held by a_1 (dead)", "1 of 2 ok", "error lease-wrong-holder  kube-system/lease", "not ok\n"}},
		"a stage that cannot be told": {check.Choice{Check: stages.Check{Stage: "install-ccm"}}, check.Verdict{Lease: check.Lease{Life: observed.Unknown}, NotChecked: []check.NotChecked{{Rule: "a", Why: "no pod was seen", Needed: true}, {Rule: "b", Why: "no pod was seen"}}},
			[]string{"migration lease   not seen", "not checked, because no pod was seen: a, b\n", "not ok: whether the stage install-ccm is done is unknown without a\n"}},
		"a cluster that cannot be told": {check.Choice{}, check.Verdict{NotChecked: []check.NotChecked{{Rule: "a", Why: "no pod was seen", Needed: true}}},
			[]string{"migration lease   no holder", "not ok: whether the cloud controllers run is unknown without a\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := NewVerification(&observed.Observation{Version: "v1.26.15"}, c.choice, c.verdict)
			contains(t, written(func(b *bytes.Buffer) { WriteVerification(b, Palette{}, v) }), c.want...)
		})
	}
}

func TestATimelineSaysWhoOwnedTheControllersAndForHowLong(t *testing.T) {
	begun := time.Date(2025, 3, 11, 9, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return begun.Add(time.Duration(seconds * float64(time.Second))) }
	intervals := []check.Interval{
		{From: at(0), To: at(10), Ownership: check.Ownership{Count: 1, Owners: []string{"kube-controller-manager"}}},
		{From: at(10), To: at(12.5), Ownership: check.Ownership{}},
		{From: at(12.5), To: at(13), Ownership: check.Ownership{Owners: []string{"cloud-controller-manager"}}},
		{From: at(13), To: at(14), Ownership: check.Ownership{Count: 2, Owners: []string{"cloud-controller-manager", "kube-controller-manager"}, Doubled: []check.Controller{check.Service}}},
		{From: at(14), To: at(15), Ownership: check.Ownership{Unknown: "the API server does not answer"}},
	}
	var b bytes.Buffer
	for _, i := range intervals {
		WriteInterval(&b, Palette{}, i)
	}
	o := NewOwnership(intervals, []check.Handover{{From: "kube-controller-manager", LastSign: at(10), FirstSign: at(12.5)}}, []string{"c-x7k2p spec"})
	WriteOwnership(&b, o)
	contains(t, b.String(),
		"10.0 s  kube-controller-manager\n", "2.5 s  no manager\n", "0.5 s  some have no manager, the others: cloud-controller-manager\n",
		"1.0 s  two managers run service: cloud-controller-manager, kube-controller-manager\n", "1.0 s  unknown: the API server does not answer\n",
		"handover from kube-controller-manager to unknown: 2.5 s between", "arguments of kube-controller-manager: from c-x7k2p spec\n",
		"one: 10.0, two: 1.0, unknown: 1.0\n")
	i := o.Intervals[4]
	assert.True(t, i.Count == unknown && i.From == "2025-03-11T09:00:14.000Z" && len(o.Intervals[3].Controllers) == 1, o.Intervals)
}

func TestAnEventForProgramsHasNoSecret(t *testing.T) {
	from := document(t, wharf)
	to := document(t, strings.Replace(wharf, "v=2", "v=3", 1))
	e := NewRunEvent(migrate.Event{
		Type: migrate.Staged, Stage: "switch-to-external", From: from, To: to,
		Findings: []transform.Finding{{Rule: "r", Message: "password=hunter2"}},
		Machines: []rollout.MachineProgress{{Name: "m", Node: "n", Waiting: "token=hunter2", Failures: 2, Output: "no space left"}},
		Actions:  planned(t, renaming).Steps[2].Stage.After,
		End:      &migrate.Outcome{Done: []string{"install-ccm"}, Leader: "x", Continue: "again"},
	})
	contains(t, yamledit.JSON(e), `"kind":"RunEvent"`, `"diff":"--- a/clusters/wharf.yaml`, `"findings":[{"rule":"r"`, `"machines":[{"name":"m","node":"n"`, `"failures":2,"output":"no space left"`, `"end":{"done":["install-ccm"],"holds":"x","again":"again"}`)
}
