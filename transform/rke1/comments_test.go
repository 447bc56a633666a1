// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"errors"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

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
