// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestUndoUndoesWhatTheFileShows(t *testing.T) {
	const others = "services:\n  kube-controller:\n    extra_args:\n      v: \"2\"\n"
	for _, c := range []struct {
		name, stage, text, want string
		canonical               bool
	}{
		{"the flag among others", stages.EnableLeaderMigration, onAWS + others + "      enable-leader-migration: \"true\"\n", onAWS + others, false},
		{"the flag alone", stages.EnableLeaderMigration, onAWS + flagged, onAWS, true},
		{"the switch of named nodes", stages.SwitchToExternal, named + granted + others + "cloud_provider:\n  name: external-aws\n", named + granted + others + "      enable-leader-migration: \"true\"\n" + onAWS, true},
		{"the switch", stages.SwitchToExternal, isOut + granted, onAWS + granted + flagged, true},
		{"nothing of a flag that is off", stages.EnableLeaderMigration, onAWS, onAWS, false},
	} {
		target := transform.Target{CanonicalForm: c.canonical}
		got := at(release, c.text)
		for _, s := range assert.Value(plan.Undo(Format(), transform.Only(parse(t, got)), target, c.stage, false))(t) {
			got = string(s.After()[0].Bytes())
		}
		assert.Equal(t, got, at(release, c.want), c.name)
	}
}

func TestUndoRefusesWhatTheFileDoesNotShow(t *testing.T) {
	for _, c := range []struct{ name, stage, text, want string }{
		{"the flag alone", stages.EnableLeaderMigration, at(release, onAWS+flagged), "it has no other argument, and was absent, empty or null before"},
		{"the flag unquoted", stages.EnableLeaderMigration, at(release, onAWS+strings.Replace(flagged, "\"true\"", "true", 1)), "existed before"},
		{"the flag repeated", stages.EnableLeaderMigration, at(release, onAWS+"services: {kube-controller: {extra_args_array: {enable-leader-migration: ['true']}}}\n"), "existed before"},
		{"the metadata", stages.SwitchToExternal, at(release, isOut+granted), "absent, false, or already true"},
		{"the text of the provider", stages.SwitchToExternal, at(release, named+granted+"cloud_provider:\n  name: external-aws\n  customCloudProvider: a\n"), "came from a block"},
		{"a release that may have moved", stages.SwitchToExternal, at(release, named+granted+"cloud_provider: {name: external-aws}\n"), "the release before the switch was this one or an older one"},
		{"no right to the lease", stages.SwitchToExternal, at(release, named+"cloud_provider: {name: external-aws}\n"), "does not permit kube-controller-manager to acquire the migration lease, and its cloud controllers would not run"},
		{"no in-tree provider", stages.SwitchToExternal, at("v1.27.16-rancher1-1", named+granted+"cloud_provider: {name: external-aws}\n"), "Kubernetes 1.27 and later have no in-tree provider to roll back to"},
		{"the timings of a manager that is not in the file", stages.SwitchToExternal, at(release, named+granted+"cloud_provider:\n  name: external-aws\n"), "the arguments of the cloud-controller-manager are not in the file"},
		{"a component by its own argument", stages.SwitchToExternal, at(release, named+granted+"cloud_provider: {name: external-aws}\nservices: {kubelet: {extra_args: {cloud-provider: external}}}\n"), "it was aws or already external before"},
		{"external by arguments alone", stages.SwitchToExternal, at(release, onAWS+granted+"services: {kube-controller: {extra_args: {cloud-provider: external}}}\n"), "in another way"},
	} {
		target := transform.Target{}
		if !strings.Contains(c.name, "timings") {
			target.CloudLease = 15 * time.Second
		}
		if strings.Contains(c.name, "moved") {
			target.Version = release
		}
		_, err := plan.Undo(Format(), transform.Only(parse(t, c.text)), target, c.stage, false)
		assert.Truef(t, errors.As(err, new(*transform.Conflict)) && strings.Contains(err.Error(), c.want), "%s: want %s, got %v", c.name, c.want, err)
	}
}

// RKE never prunes, so an undo of the grant says what to delete.
func TestUndoOfTheGrantDeletesItInTheCluster(t *testing.T) {
	s := stageOf(t, opened(t, at(release, onAWS), transform.Target{}), stages.GrantMigrationLease)
	assert.Contains(t, "\n"+commandsOf(s.UndoAfter)+"\n", "\nkubectl -n kube-system delete --ignore-not-found role,rolebinding cloud-provider-extraction-migration\n")
}

func TestTheSwitchRestoresWhatSomeoneWroteBeforeTheStages(t *testing.T) {
	for name, c := range map[string]struct{ services, want string }{
		"a comment above":      {"services:\n  # the manager of our own\n  kube-controller: {}\n", ""},
		"a comment after it":   {"services:\n  kube-controller: {} # keep: tuned by team A\n", ""},
		"one on the arguments": {"services:\n  kube-controller:\n    extra_args: {} # none\n", ""},
		"one of all services":  {"# ours\nservices:\n  kube-controller: {}\n", "# ours\nservices: {}\n"},
	} {
		if c.want == "" {
			c.want = c.services
		}
		p := planned(t, at(release, named+c.services+onAWS), transform.Target{})
		step, _ := p.Step(stages.SwitchToExternal)
		assert.Contains(t, string(step.After()[0].Bytes()), c.want, name)
	}
}

func TestTheSwitchKeepsTheCommentsOfABlockThatGoes(t *testing.T) {
	const block = "  awsCloudProvider: # tuned\n    global:\n      # the zone\n      zone: a # by hand\n"
	got := after(t, at(release, onAWS+block), stages.SwitchToExternal, transform.Target{})
	assert.Equal(t, got, at(release, isOut+"  customCloudProvider: |-\n    [Global]\n    Zone = a\n  # tuned\n  # the zone\n  # by hand\n"))
}

func TestAnUndoTakesNothingThatHasAComment(t *testing.T) {
	const others = "services:\n  kube-controller:\n    extra_args:\n      v: \"2\"\n"
	text := at(release, onAWS+others+"      enable-leader-migration: \"true\" # ours\n")
	_, err := plan.Undo(Format(), transform.Only(parse(t, text)), transform.Target{}, stages.EnableLeaderMigration, false)
	assert.True(t, errors.As(err, new(*transform.Conflict)) && strings.Contains(err.Error(), "it has a comment (line "), err)
	steps, err := plan.Undo(Format(), transform.Only(parse(t, text)), transform.Target{CanonicalForm: true}, stages.EnableLeaderMigration, false)
	want := at(release, onAWS+others+"      # ours\n")
	assert.True(t, err == nil && string(steps[0].After()[0].Bytes()) == want, err)
}
