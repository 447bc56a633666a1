// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	ownManifest = "additionalManifest: |\n  kind: ConfigMap\n  metadata: {name: some, namespace: demo}\n"
	twoArgs     = "  kube-controller-manager-arg: [v=2, profiling=false]\n"
	otherArgs   = "  kube-apiserver-arg: [v=2, profiling=false]\n"
	// determined is a configuration in which the reverse of every stage is determined.
	determined = onAWS + twoArgs + ownManifest
)

var (
	inTurn   = transform.Target{EndState: transform.EndStateExternal}
	override = transform.Target{EndState: transform.EndStateOverride}
	usual    = transform.Target{EndState: transform.EndStateExternal, CanonicalForm: true}
)

// back applies the stages up to one, takes that back, and returns the
// configuration in front of the stage and the one that came of it.
func back(t *testing.T, config, stage string, target transform.Target) (was, is string, err error) {
	t.Helper()
	s := step(t, planned(t, release, config, target), stage)
	steps, err := plan.Undo(Format(), s.After(), target, stage, false)
	if err != nil {
		return "", "", err
	}
	assert.Mustf(t, len(steps) == 1, "%d steps", len(steps))
	restored(t, steps[0].Documents[0].Before, steps[0].Documents[0].After, steps[0].Documents[0].Splices)
	return configOf(s.Documents[0].Before), configOf(steps[0].Documents[0].After), nil
}

// leadsBack requires that the undo of a stage restores a configuration.
func leadsBack(t *testing.T, name, config, stage string, target transform.Target) {
	t.Helper()
	was, is, err := back(t, config, stage, target)
	assert.True(t, err == nil, name, stage, err)
	assert.DeepEqual(t, is, was, name, stage)
}

// undone takes a stage of a configuration back.
func undone(t *testing.T, version, config, stage string, target transform.Target) (string, error) {
	t.Helper()
	steps, err := plan.Undo(Format(), transform.Only(parse(t, document(version, config))), target, stage, false)
	if err != nil || len(steps) == 0 {
		return "", err
	}
	return configOf(steps[0].Documents[0].After), nil
}

// refuses expects a conflict with a part of its message.
func refuses(t *testing.T, name string, err error, want string) {
	t.Helper()
	assert.Truef(t, errors.As(err, new(*transform.Conflict)) && strings.Contains(err.Error(), want), "%s\n got: %v\nwant: %s", name, err, want)
}

func TestUndoRestoresWhatTheFileStillShows(t *testing.T) {
	const entries = "machineSelectorConfig:\n"
	for _, c := range []struct {
		name, config string
		stages       []string
		target       transform.Target
	}{
		{"every stage", determined, stages.UndoNames(), inTurn},
		{"every stage, with leader migration kept", determined, []string{stages.GrantMigrationLease, stages.SwitchToExternal}, transform.Target{EndState: "external", KeepLeaderMigration: true}},
		{"every stage with short leases", determined, stages.UndoNames(), transform.Target{EndState: "external", ShortLeases: true}},
		{"both stages without leader migration", determined, []string{stages.InstallCCM, stages.SwitchToExternal}, transform.Target{EndState: "external", NoLeaderMigration: true}},
		{"an entry that was put in front of others", onAWS + ownManifest + entries + "- config: {debug: true}\n", []string{stages.EnableLeaderMigration, stages.SwitchToExternal}, inTurn},
		{"a provider that an entry sets", ownManifest + entries + "- config:\n    cloud-provider-name: aws\n    cni: calico\n", []string{stages.EnableLeaderMigration, stages.SwitchToExternal}, inTurn},
		{"the stub among sorted keys", onAWS + "  cni: calico\n  profile: cis\n" + ownManifest + entries + "- config: {debug: true}\n", []string{stages.SwitchToExternal}, inTurn},
		{"a stub that was elsewhere", "machineGlobalConfig:\n  disable-cloud-controller: true\n  cni: calico\n  cloud-provider-name: aws\n" + twoArgs + ownManifest, []string{stages.SwitchToExternal}, inTurn},
		{"a component that was in-tree by its own argument, as is usual", onAWS + twoArgs + "  kubelet-arg: [cloud-provider=aws, v=2]\n" + ownManifest, []string{stages.SwitchToExternal}, usual},
		{"overrides after other arguments", onAWS + twoArgs + "  kubelet-arg: [v=2, max-pods=9]\n  kube-apiserver-arg: [--v=2, --profiling=false]\n" + ownManifest, []string{stages.SwitchToExternal, stages.DisableLeaderMigration}, override},
		{"an override in the place of an in-tree provider, as is usual", onAWS + twoArgs + "  kubelet-arg: [--cloud-provider=aws, v=2, v=3]\n  kube-apiserver-arg: [v=2, profiling=false]\n" + ownManifest, []string{stages.SwitchToExternal}, transform.Target{EndState: "aws-override", CanonicalForm: true}},
		{"a flag that takes turns with the override", oneNode + onAWS + "  kubelet-arg: [v=2, max-pods=9]\n  kube-apiserver-arg: [v=2, profiling=false]\n" + ownManifest + entries + "- config: {debug: true}\n", []string{stages.SwitchToExternal}, override},
	} {
		for _, stage := range c.stages {
			leadsBack(t, c.name, c.config, stage, c.target)
		}
	}
}

func TestUndoRefusesWhatTheFileDoesNotShow(t *testing.T) {
	const entry = "machineSelectorConfig:\n- config: {debug: true}\n  " + forWorkers + "\n- config: {}\n"
	for _, c := range []struct {
		name, stage, config string
		target              transform.Target
		want                string
	}{
		{"whether there was a manifest", stages.GrantMigrationLease, onAWS + twoArgs, inTurn, "additionalManifest: it contains nothing else, and was either absent or empty before; the file does not show which; undo it with its plan folder (--plan), or restore the file from git, or add --canonical for the usual form"},
		{"whether there were entries", stages.EnableLeaderMigration, onAWS, inTurn, "machineSelectorConfig: it contains nothing else"},
		{"whether an entry without selector was there", stages.EnableLeaderMigration, onAWS + entry, inTurn, "machineSelectorConfig[2]: the entry without a selector existed before or was added with the flag"},
		{"whether one argument was a string", stages.EnableLeaderMigration, onAWS + "  kube-controller-manager-arg: v=2\n", inTurn, "kube-controller-manager-arg: it has one other argument, which was a string or a list before"},
		{"what an empty list was", stages.EnableLeaderMigration, onAWS + "  kube-controller-manager-arg: []\n", inTurn, "kube-controller-manager-arg: it has no other argument"},
		{"whether a component had arguments", stages.SwitchToExternal, determined, override, "machineGlobalConfig.kubelet-arg: it has no other argument, and was absent or empty before"},
		{"whether a component's one argument was a string", stages.SwitchToExternal, onAWS + twoArgs + "  kubelet-arg: v=2\n" + otherArgs + ownManifest, override, "kubelet-arg: it has one other argument, which was a string or a list before"},
		{"what an empty list of an entry was", stages.SwitchToExternal, onAWS + twoArgs + "  kubelet-arg: [v=2, v=3]\n" + otherArgs + ownManifest + "machineSelectorConfig:\n- config: {kubelet-arg: []}\n", override, "kubelet-arg: it has no other argument, and was an empty list, an empty string or null before"},
		{"what a component was by its own argument", stages.SwitchToExternal, onAWS + twoArgs + "  kubelet-arg: [cloud-provider=aws, v=2]\n" + ownManifest, inTurn, "kubelet-arg: cloud-provider is set separately, and it was aws or already external before"},
		{"what workers were", stages.SwitchToExternal, split + determined + "machineSelectorConfig:\n- config: {cloud-provider-name: external}\n  " + forWorkers + "\n", inTurn, "machineSelectorConfig[0].config.cloud-provider-name: no control plane reads it from here, and it was aws or already external before"},
		{"where a configuration was", stages.SwitchToExternal, determined + "# c\n" + "dataDirectories: {}\n" + "machineSelectorConfig:\n- config:\n    cloud-provider-config: secret://a:b\n", inTurn, "cloud-provider-config was removed by the switch"},
	} {
		_, _, err := back(t, c.config, c.stage, c.target)
		refuses(t, c.name, err, c.want)
	}
}

func TestCanonicalTakesTheUsualForm(t *testing.T) {
	for _, c := range []struct{ name, stage, config, want string }{
		{"an empty manifest becomes none", stages.GrantMigrationLease, onAWS + "additionalManifest: ''\n", onAWS},
		{"no entries", stages.EnableLeaderMigration, onAWS + "machineSelectorConfig: []\n", onAWS},
		{"one argument becomes a list", stages.EnableLeaderMigration, onAWS + "  kube-controller-manager-arg: v=2\n", onAWS + "  kube-controller-manager-arg:\n    - v=2\n"},
	} {
		_, is, err := back(t, c.config, c.stage, usual)
		is, _, _ = strings.Cut(is, "additionalManifest")
		assert.True(t, err == nil && is == c.want, c.name, err, is)
	}
}

// ranTo returns the configuration after a stage of the usual way.
func ranTo(t *testing.T, config, stage string) string {
	t.Helper()
	return configOf(step(t, planned(t, release, config, inTurn), stage).Documents[0].After)
}

func TestUndoRefusesWhatIsNotItsOwn(t *testing.T) {
	granted := ranTo(t, determined, stages.GrantMigrationLease)
	installed := ranTo(t, determined, stages.InstallCCM)
	final := ranTo(t, determined, stages.DisableLeaderMigration)
	for _, c := range []struct{ name, stage, config, want string }{
		{"a role with other rules", stages.GrantMigrationLease, strings.Replace(granted, "- update\n", "- patch\n", 1), "this manifest differs from the one that rke-lm writes, so it may have another purpose"},
		{"a role without its binding", stages.GrantMigrationLease, strings.Replace(granted, "kind: RoleBinding", "kind: RoleBindings", 1), "this manifest differs from the one that rke-lm writes, so it may have another purpose"},
		{"a role that is used elsewhere", stages.GrantMigrationLease, inManifest(granted, "kind: RoleBinding\nmetadata: {name: other, namespace: kube-system}\nroleRef: {kind: Role, name: cloud-provider-extraction-migration}\n"), "this manifest also uses the role cloud-provider-extraction-migration; "},
		{"a chart of another version", stages.InstallCCM, strings.Replace(installed, "version: 0.0.8", "version: 0.0.9", 1), "this HelmChart is not the one that these choices"},
		{"a chart with other values", stages.InstallCCM, strings.Replace(installed, "- --v=2", "- --v=4", 1), "this HelmChart is not the one that these choices"},
		{"a flag in front of others", stages.EnableLeaderMigration, onAWS + "  kube-controller-manager-arg: [enable-leader-migration, v=2, v=3]\n", "enable-leader-migration differs from what rke-lm writes"},
		{"a flag in another spelling", stages.EnableLeaderMigration, onAWS + "  kube-controller-manager-arg: [v=2, v=3, --enable-leader-migration=true]\n", "enable-leader-migration differs from what rke-lm writes"},
		{"a flag in a string", stages.EnableLeaderMigration, onAWS + "  kube-controller-manager-arg: enable-leader-migration\n", "enable-leader-migration differs from what rke-lm writes"},
		{"a switch without a chart", stages.SwitchToExternal, globalOff + twoArgs, "additionalManifest has no chart of the cloud-controller-manager, so the cluster was changed to external in another way"},
		{"a switch without the right to the lease", stages.SwitchToExternal, strings.Replace(ranTo(t, determined, stages.SwitchToExternal), "kind: RoleBinding", "kind: RoleBindings", 1), "additionalManifest does not permit kube-controller-manager to acquire the migration lease"},
		{"a stage in front of a later one", stages.InstallCCM, final, "disable-leader-migration comes after install-ccm and is still in the file; undo it first, or add --through"},
		{"a chart of another minor", stages.SwitchToExternal, strings.Replace(ranTo(t, determined, stages.SwitchToExternal), "tag: v1.26.6", "tag: v1.25.3", 1), "the release before the switch was this one or an older one"},
	} {
		_, err := undone(t, release, c.config, c.stage, inTurn)
		refuses(t, c.name, err, c.want)
	}
}

// inManifest adds a document to the manifest of a configuration.
func inManifest(config, doc string) string {
	return strings.Replace(config, "additionalManifest: |\n", "additionalManifest: |\n  "+strings.ReplaceAll(strings.TrimSuffix(doc, "\n"), "\n", "\n  ")+"\n  ---\n", 1)
}

func TestManifestsThatCameLaterStay(t *testing.T) {
	const later = "  ---\n  kind: ConfigMap\n  metadata: {name: later}\n"
	got, err := undone(t, release, ranTo(t, determined, stages.GrantMigrationLease)+later, stages.GrantMigrationLease, inTurn)
	assert.NilError(t, err)
	assert.DeepEqual(t, got, determined+later)
}

func TestThereIsNoRollbackFrom127(t *testing.T) {
	config := ranTo(t, determined, stages.SwitchToExternal)
	_, err := undone(t, "v1.27.16+rke2r1", config, stages.SwitchToExternal, usual)
	refuses(t, "", err, "spec.kubernetesVersion: Kubernetes 1.27 and later have no in-tree provider to roll back to; keep the external provider")
}

func TestAReleaseThatTheSwitchMovedToIsNotUndone(t *testing.T) {
	target := transform.Target{EndState: "external", Version: "v1.26.16+rke2r1"}
	for _, stage := range []string{stages.SwitchToExternal, stages.DisableLeaderMigration} {
		doc := step(t, planned(t, release, determined, target), stage).After()
		_, err := plan.Undo(Format(), doc, target, stage, false)
		refuses(t, stage, err, "--canonical")
		canonical := target
		canonical.CanonicalForm = true
		steps, err := plan.Undo(Format(), doc, canonical, stage, false)
		assert.Mustf(t, err == nil && len(steps) == 1, "%s: %v", stage, err)
		v, _ := steps[0].After()[0].Root().Get("spec", "kubernetesVersion").String()
		assert.Truef(t, v == target.Version, "%s: the release is %s", stage, v)
	}
}

func TestNothingIsUndoneWhereNothingWasDone(t *testing.T) {
	for _, stage := range stages.UndoNames() {
		got, err := undone(t, release, determined, stage, inTurn)
		assert.Truef(t, err == nil && got == "", "%s: %v\n%s", stage, err, got)
	}
}

// No manager gives a lease back while it runs.
func TestTheLeaseComesBackWithTheUndoOfTheChart(t *testing.T) {
	m := cluster(t, determined)
	s := stageOf(t, m, stages.SwitchToExternal)
	assert.Truef(t, len(s.After) != 0 && len(s.UndoAfter) == 2 && strings.Contains(s.UndoAfter[1].Why, "cloud-controller-manager holds the migration lease for as long as it runs, and kube-controller-manager waits for it"), "got %v and %v", s.After, s.UndoAfter)
	s = stageOf(t, m, stages.InstallCCM)
	assert.Truef(t, len(s.UndoAfter) == 2 && strings.Contains(s.UndoAfter[1].Why, "within 30 seconds kube-controller-manager holds the migration lease again"), "got %v", s.UndoAfter)
	short := &migration{Cluster: m.Cluster, Migration: stages.Migration{Target: transform.Target{NoLeaderMigration: true}}}
	for _, name := range []string{stages.SwitchToExternal, stages.InstallCCM} {
		s := stageOf(t, short, name)
		assert.Truef(t, len(s.UndoAfter) == 1, "without leader migration there is no lease: %v", s.UndoAfter)
	}
}

func TestTheChartsValuesAreNextToTheRunbook(t *testing.T) {
	s := step(t, planned(t, release, determined, inTurn), stages.InstallCCM)
	files, err := s.Files()
	assert.Mustf(t, err == nil && len(files) == 1 && files[0].Name == "aws-ccm-values.yaml", "%v: %v", err, files)
	doc, err := yamledit.ParseString("values", files[0].Content)
	assert.Truef(t, err == nil && strings.Contains(files[0].Content, "- --enable-leader-migration=true\n") && doc.Root().Get("image", "tag").Exists(), "%v:\n%s", err, files[0].Content)
	for _, stage := range []string{stages.GrantMigrationLease, stages.CordonControlPlane} {
		files, err := step(t, planned(t, release, determined, inTurn), stage).Files()
		assert.Truef(t, err == nil && len(files) == 0, "%s: %v %v", stage, err, files)
	}
}

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
