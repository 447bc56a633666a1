// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// ownEntry is an entry for control planes that someone wrote by hand.
const ownEntry = `machineSelectorConfig:
# all control planes
- config:
    # no arguments, on purpose
    kube-controller-manager-arg: [] # none
  machineLabelSelector: # which
    matchExpressions:
    - {key: rke.cattle.io/control-plane-role, operator: In, values: ["true"]}
`

func TestTheSwitchRestoresWhatSomeoneWroteBeforeTheStages(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"an entry with comments":               {onAWS + ownEntry, globalOff + ownEntry},
		"a list with a comment":                {onAWS + "  kube-controller-manager-arg: [] # none yet\n", globalOff + "  kube-controller-manager-arg: [] # none yet\n"},
		"a list with a comment above":          {onAWS + "  # none yet\n  kube-controller-manager-arg: []\n", globalOff + "  # none yet\n  kube-controller-manager-arg: []\n"},
		"an entry that selects in another way": {onAWS + "machineSelectorConfig:\n- config: {kube-controller-manager-arg: []}\n  " + forControlPlanes + "\n", globalOff + "machineSelectorConfig:\n- config: {}\n  " + forControlPlanes + "\n"},
	} {
		got := configOf(step(t, planned(t, release, c.config, inTurn), stages.SwitchToExternal).Documents[0].After)
		got = got[:strings.Index(got, "additionalManifest")]
		assert.DeepEqual(t, got, c.want, name)
	}
}

func TestTheSwitchKeepsTheCommentOfAFlagThatGoes(t *testing.T) {
	const before = "  kube-controller-manager-arg:\n  - v=2\n  - enable-leader-migration # see OPS-12\n  - profiling=false\n"
	want := globalOff + "  kube-controller-manager-arg:\n  - v=2\n  # see OPS-12\n  - profiling=false\n"
	assert.DeepEqual(t, after(t, onAWS+before, stages.SwitchToExternal), want)
}

func TestAnUndoTakesNothingThatHasAComment(t *testing.T) {
	const own = "  cloud-provider-name: aws\n  disable-cloud-controller: true"
	const head, tail = "machineGlobalConfig:\n", "\n" + twoArgs + ownManifest
	for name, comment := range map[string]string{
		"after it":       head + own + " # ours: no stub, ever" + tail,
		"right above it": head + strings.Replace(own, "  disable", "  # ours: no stub, ever\n  disable", 1) + tail,
	} {
		_, _, err := back(t, comment, stages.SwitchToExternal, inTurn)
		refuses(t, name, err, "it has a comment (line ")
		assert.Truef(t, err == nil || strings.Contains(err.Error(), "--canonical"), "%s: %v", name, err)
		_, is, err := back(t, comment, stages.SwitchToExternal, usual)
		assert.Truef(t, err == nil && !strings.Contains(is, "disable-cloud-controller") && strings.Contains(is, "# ours: no stub, ever"), "%s: %v\n%s", name, err, is)
	}
}

func TestAnUndoLeavesAStubThatNoStageWrote(t *testing.T) {
	for name, config := range map[string]string{
		"in other words":   onAWS + "  disable-cloud-controller: yes\n" + twoArgs + ownManifest,
		"in quotes":        onAWS + "  disable-cloud-controller: \"true\"\n" + twoArgs + ownManifest,
		"in another place": "machineGlobalConfig:\n  disable-cloud-controller: true\n  cloud-provider-name: aws\n" + twoArgs + ownManifest,
	} {
		leadsBack(t, name, config, stages.SwitchToExternal, inTurn)
	}
}

func TestAnUndoKeepsTheCommentsOfManifests(t *testing.T) {
	for line, stage := range map[string]string{"kind: Role\n": stages.GrantMigrationLease, "failurePolicy: abort\n": stages.InstallCCM, "args:\n": stages.InstallCCM} {
		made := string(step(t, planned(t, release, determined, inTurn), stage).After()[0].Bytes())
		in := transform.Only(parse(t, strings.Replace(made, line, strings.TrimSpace(line)+" # of us all\n", 1)))
		_, err := plan.Undo(Format(), in, inTurn, stage, false)
		refuses(t, line, err, "it has a comment (line ")
		steps, err := plan.Undo(Format(), in, usual, stage, false)
		assert.Truef(t, err == nil && len(steps) == 1 && strings.Contains(string(steps[0].After()[0].Bytes()), "# of us all"), "%s: %v", line, err)
	}
}

func TestAPlanNamesCommentsThatAnEditMayMakeUntrue(t *testing.T) {
	const config = "machineGlobalConfig:\n  # in-tree,\n  # to be replaced\n  cloud-provider-name: aws # for now\n  cni: calico # fine\n"
	p := planned(t, release, config, inTurn)
	notes := func(stage string) (lines []int) {
		for _, f := range step(t, p, stage).Findings {
			if f.Rule == plan.RuleComment {
				lines = append(lines, f.Line)
				assert.True(t, f.Severity == transform.Note && !strings.Contains(f.Message, "to be replaced"), f)
			}
		}
		return lines
	}
	at := strings.Count(string(p.Start[0].Bytes()[:strings.Index(string(p.Start[0].Bytes()), "# in-tree")]), "\n") + 1
	assert.EqualSlices(t, notes(stages.SwitchToExternal), []int{at}, "the lines of the notes")
	assert.EqualSlices(t, notes(stages.GrantMigrationLease), nil, "a stage that touches none")
	assert.Contains(t, string(step(t, p, stages.SwitchToExternal).Documents[0].After.Bytes()), "# in-tree,\n      # to be replaced\n      cloud-provider-name: external # for now")
}

// A comment that refers to an issue or a page describes no value.
func TestAPlanDoesNotNameCommentsThatDescribeNothing(t *testing.T) {
	for comment, noted := range map[string]bool{
		"INFRA-1221": false, "#418": false, "https://wiki.example.com/clusters": false,
		"INFRA-1221 in-tree until then": true, "aws": true, "in-tree": true,
	} {
		s := step(t, planned(t, release, "machineGlobalConfig:\n  cloud-provider-name: aws # "+comment+"\n", inTurn), stages.SwitchToExternal)
		assert.Equal(t, slices.ContainsFunc(s.Findings, func(f transform.Finding) bool { return f.Rule == plan.RuleComment }), noted, comment)
	}
}
