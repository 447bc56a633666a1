// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestStagesChangeOnlyTheTimingsOfShortLeases(t *testing.T) {
	const flag, ours = "\n- enable-leader-migration", "\n- leader-elect-renew-deadline=4s\n- leader-elect-retry-period=1s"
	short := chosen
	short.ShortLeases = true
	for _, c := range []struct {
		name, stage, before, want string
		target                    transform.Target
	}{
		{"they come with the flag", stages.EnableLeaderMigration, "\n- v=2", "\n- v=2" + flag + ours, short},
		{"they complete a stage that was done without", stages.EnableLeaderMigration, "\n- v=2" + flag, "\n- v=2" + flag + ours, short},
		{"a string becomes a list", stages.EnableLeaderMigration, " v=2", "\n- v=2" + flag + ours, short},
		{"with dashes", stages.EnableLeaderMigration, "\n- --v=2", "\n- --v=2" + strings.ReplaceAll(flag+ours, "- ", "- --"), short},
		{"one timing of the user's is enough", stages.EnableLeaderMigration, "\n- leader-elect-retry-period=3s", "\n- leader-elect-retry-period=3s" + flag, short},
		{"none without the option", stages.EnableLeaderMigration, "\n- v=2", "\n- v=2" + flag, chosen},
		{"the switch takes them with the flag", stages.SwitchToExternal, "\n- v=2" + flag + ours, "\n- v=2", chosen},
		{"in any order and place", stages.SwitchToExternal, "\n- leader-elect-retry-period=1s\n- v=2\n- leader-elect-renew-deadline=4s" + flag, "\n- v=2", chosen},
		{"it keeps other ones", stages.SwitchToExternal, "\n- leader-elect-renew-deadline=5s\n- leader-elect-retry-period=1s" + flag, "\n- leader-elect-renew-deadline=5s\n- leader-elect-retry-period=1s", chosen},
		{"and those without which a lease duration is too short", stages.SwitchToExternal, "\n- leader-elect-lease-duration=6s" + ours + flag, "\n- leader-elect-lease-duration=6s" + ours, chosen},
		{"and those without the flag", stages.SwitchToExternal, ours, ours, chosen},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBoth(t, func(t *testing.T, with func(string) string) {
				want := with(c.want)
				if c.stage == stages.SwitchToExternal {
					want = strings.Replace(want, "cloud-provider-name: aws\n", "cloud-provider-name: external\n  disable-cloud-controller: true\n", 1)
				}
				assert.DeepEqual(t, afterAt(t, release, with(c.before), c.stage, c.target), want)
			})
		})
	}
}

// A cloud-controller-manager whose leases are shorter than kube-controller-manager leads must not be its candidate.
func TestTheUndoOfTheSwitchReturnsTheTimingsThatTheOtherManagerNeeds(t *testing.T) {
	target := chosen
	target.ShortLeases = true
	made := string(step(t, planned(t, release, determined, target), stages.SwitchToExternal).After()[0].Bytes())
	for lease, want := range map[string]bool{"6s": true, "8s": true, "12s": true, "13s": false, "15s": false} {
		doc := parse(t, strings.Replace(made, "--leader-elect-lease-duration=8s", "--leader-elect-lease-duration="+lease, 1))
		steps, err := plan.Undo(Format(), transform.Only(doc), chosen, stages.SwitchToExternal, false)
		assert.Must(t, err == nil, lease, err)
		list := configOf(steps[0].Documents[0].After)
		list = list[:strings.Index(list, "additionalManifest")]
		assert.Equal(t, strings.Contains(list, "enable-leader-migration, leader-elect-renew-deadline=4s, leader-elect-retry-period=1s"), want, lease, list)
	}
}

func TestShortLeasesAreRefusedNextToAManagerThatMayRun(t *testing.T) {
	target := chosen
	target.ShortLeases = true
	_, err := plan.Build(Format(), transform.Only(parse(t, document(release, chartAs(forms["a name"])))), target)
	refuses(t, "a chart without timings", err, "has the default timings of leases")
	p := planned(t, release, determined, chosen)
	done := p.Steps[len(p.Steps)-1].After()
	assert.True(t, !assert.Value(plan.Build(Format(), done, target))(t).Left(), "a migration that is complete")
}
