// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"slices"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

func TestManagersShowTheLastStageThatTheyHaveTheResultOf(t *testing.T) {
	for _, c := range []struct {
		m    Managers
		want string
	}{
		{Managers{}, ""},
		{Managers{Granted: true}, GrantMigrationLease},
		{Managers{Granted: true, Flag: true}, EnableLeaderMigration},
		{Managers{Flag: true}, EnableLeaderMigration},
		{Managers{Granted: true, Flag: true, Cloud: true}, InstallCCM},
		{Managers{Granted: true, Flag: true, Cloud: true, CloudFlag: true}, InstallCCM},
		{Managers{Granted: true, External: true, Cloud: true, CloudFlag: true}, SwitchToExternal},
		{Managers{External: true, Cloud: true}, DisableLeaderMigration},
		{Managers{Granted: true, External: true}, GrantMigrationLease},
	} {
		assert.Equal(t, Reached(c.m), c.want, c.m)
	}
}

func TestAStageOfActionsIsPastOrUndoableAsTheClusterShows(t *testing.T) {
	past := func(seen Observed) []string { return where(func(s *Stage) bool { return Past(s.Name, seen) }) }
	undoable := func(seen Observed) []string {
		return where(func(s *Stage) bool { return s.past != nil && Undoable(s.Name, seen) })
	}
	for _, c := range []struct {
		name           string
		seen           Observed
		past, undoable []string
	}{
		{"before all", Observed{Helm: true}, []string{UncordonControlPlane}, []string{CordonControlPlane, UncordonControlPlane}},
		{"the chart runs", Observed{Helm: true, Cloud: true, Migrates: true, Installed: true, Marked: true}, []string{InstallCCM}, []string{InstallCCM, CordonControlPlane, UncordonControlPlane}},
		{"switched", Observed{Helm: true, Cloud: true, Migrates: true, Switched: true}, []string{InstallCCM, CordonControlPlane, UncordonControlPlane}, []string{InstallCCM, CordonControlPlane, UncordonControlPlane}},
		{"at the end", Observed{Helm: true, Cloud: true, Switched: true, Finished: true}, []string{InstallCCM, CordonControlPlane, UncordonControlPlane, DisableLeaderMigration, UpgradeCCM}, []string{InstallCCM, CordonControlPlane, UncordonControlPlane, DisableLeaderMigration}},
		{"no chart", Observed{Cloud: true, Switched: true, Finished: true}, []string{CordonControlPlane, UncordonControlPlane}, []string{InstallCCM, CordonControlPlane, UncordonControlPlane, DisableLeaderMigration}},
	} {
		assert.EqualSlices(t, past(c.seen), c.past, c.name, "past are")
		assert.EqualSlices(t, undoable(c.seen), c.undoable, c.name, "to undo are")
	}
	assert.True(t, !Undoable(VerifyProviderIDs, Observed{Cloud: true}), "there is nothing to undo of checks")
}

func TestWhatStagesChangeOfMachinesIsNamedOnce(t *testing.T) {
	m := Promised()
	assert.EqualSlices(t, m.Keys, []string{"cloud-provider-name", "disable-cloud-controller"})
	assert.EqualSlices(t, m.Arguments, []string{"kube-apiserver-arg", "kube-controller-manager-arg", "kubelet-arg"})
	assert.EqualSlices(t, m.Flags, []string{"cloud-provider", "cloud-config", "enable-leader-migration", "leader-migration-config", "feature-gates", "leader-elect-renew-deadline", "leader-elect-retry-period"})
}

func TestStagesComeByTheirNamesInTheirOrder(t *testing.T) {
	set := func(c Cluster) []transform.Listed {
		made := func(complete func(transform.Stage) transform.Stage) func() transform.Stage {
			return func() transform.Stage { return complete(transform.Stage{Why: "Own."}) }
		}
		cordoning := Cordoning{Selector: c.Selector, Cluster: "heron", Why: "No pods.", ReleaseWhy: "Pods again."}
		return c.InOrder(Set{
			Grant: made(c.Grant), Enable: made(c.Enable), Cordon: cordoning.Stage, Uncordon: cordoning.Release,
			Install: made(func(s transform.Stage) transform.Stage { return c.Install(s, "do both at once") }),
			Switch:  made(func(s transform.Stage) transform.Stage { return c.Switch(s, true) }),
			Disable: made(func(s transform.Stage) transform.Stage { return c.Disable(s, true) }),

			UpgradeKubernetes: made(c.Upgrade), UpgradeCCM: made(c.UpgradedCCM),
		})
	}
	for name, c := range map[string]struct {
		target transform.Target
		want   []string
	}{
		"with leader migration": {long, slices.DeleteFunc(Names(), func(name string) bool {
			return slices.Contains([]string{SetProviderIDs, UpgradeKubernetes, UpgradeCCM}, name)
		})},
		"an upgrade":               {transform.Target{Upgrade: transform.UpgradeByStages}, []string{VerifyProviderIDs, UpgradeKubernetes, UpgradeCCM}},
		"an upgrade past 1.26":     {transform.Target{Upgrade: transform.UpgradeByStages}.In(transform.External), []string{VerifyProviderIDs, UpgradeKubernetes, UpgradeCCM}},
		"without leader migration": {short, []string{InstallCCM, SwitchToExternal, VerifyProviderIDs}},
		"names only":               {short.In(transform.NamesOnly), []string{InstallCCM, SwitchToExternal, SetProviderIDs, VerifyProviderIDs}},
		"external past 1.26":       {short.In(transform.External), []string{InstallCCM, SwitchToExternal, SetProviderIDs, VerifyProviderIDs}},
		"broken":                   {short.In(transform.Broken), []string{SwitchToExternal, InstallCCM, SetProviderIDs, VerifyProviderIDs}},
	} {
		for _, selector := range []string{"", "role=control-plane"} {
			var names []string
			for _, listed := range set(Cluster{Target: c.target, Selector: selector}) {
				s := listed.Stage()
				names = append(names, s.Name)
				assert.Truef(t, s.Why != "" && len(s.Verify)+len(s.After) != 0, "%s: %s says nothing, or shows nothing", name, s.Name)
				want := map[string][]string{SwitchToExternal: {InstallCCM}, DisableLeaderMigration: {SwitchToExternal}}[s.Name]
				assert.Truef(t, slices.Equal(s.AfterManual, want), "%s: %s comes after %v", name, s.Name, s.AfterManual)
			}
			assert.EqualSlices(t, names, c.want, name)
		}
	}
}
