// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"slices"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
)

var (
	long  = transform.Target{}
	keep  = transform.Target{KeepLeaderMigration: true}
	short = transform.Target{NoLeaderMigration: true}
)

func TestEveryStageHasWhatHasToHoldAfterIt(t *testing.T) {
	for _, name := range Names() {
		c := After(name, long)
		assert.Truef(t, !c.NodesOnly && c.Stage == name && c.AtLeast != "" && c.AtMost == "", "%s: %+v", name, c)
	}
	assert.Equal(t, After("", long), (Check{}), "before all stages")
}

func TestWhatHasToHoldFollowsTheChoices(t *testing.T) {
	end := After(DisableLeaderMigration, long)
	end.AtLeast = SwitchToExternal
	for _, c := range []struct {
		name      string
		got, want Check
	}{
		{"leader migration is kept", After(DisableLeaderMigration, keep), end},
		{"without leader migration the managers overlap", After(InstallCCM, short), Check{NodesOnly: true}},
		{"and has no lease", After(SwitchToExternal, short), After(VerifyProviderIDs, short)},
		{"nothing comes before the first stage", Before(GrantMigrationLease, long), Check{}},
		{"the stage before", Before(InstallCCM, long), After(EnableLeaderMigration, long)},
		{"the stage before, without leader migration", Before(SwitchToExternal, short), After(InstallCCM, short)},
		{"the switch undone", Undone(SwitchToExternal, long), Check{Lease: Either}},
		{"the switch undone, without leader migration", Undone(SwitchToExternal, short), Check{NodesOnly: true}},
		{"the chart undone", Undone(InstallCCM, long), Check{Stage: EnableLeaderMigration, AtMost: EnableLeaderMigration, Lease: KubeManager, Granted: true}},
		{"the flag undone", Undone(EnableLeaderMigration, long), Check{Stage: GrantMigrationLease, AtMost: GrantMigrationLease, Granted: true}},
		{"the right undone", Undone(GrantMigrationLease, long), Check{}},
	} {
		assert.Equal(t, c.got, c.want, c.name)
	}
	c, after := Undone(DisableLeaderMigration, long), After(SwitchToExternal, long)
	assert.Truef(t, c.AtLeast == c.AtMost && c.AtMost == SwitchToExternal && c.Lease == after.Lease, "the end undone: %+v", c)
}

// Both managers take part in the migration under one lease from the one to the other, and
// no manager gives it back.
func TestEitherManagerMayHoldTheLeaseFromTheInstallationToTheSwitch(t *testing.T) {
	for name, want := range map[string]Holder{
		"": Anyone, GrantMigrationLease: Anyone, EnableLeaderMigration: KubeManager, InstallCCM: Either, CordonControlPlane: Either,
		SwitchToExternal: CloudManager, UncordonControlPlane: CloudManager, DisableLeaderMigration: Remaining, VerifyProviderIDs: Remaining,
	} {
		assert.Equal(t, After(name, long).Lease, want, name)
	}
	assert.True(t, Before(SwitchToExternal, long).Lease == Either && Undone(SwitchToExternal, long).Lease == Either, "before the switch and after its undo")
}

func TestBoundsOfACheckAreStages(t *testing.T) {
	c := Check{AtLeast: EnableLeaderMigration, AtMost: SwitchToExternal}
	for shown, want := range map[string][2]bool{
		"": {false, true}, GrantMigrationLease: {false, true}, EnableLeaderMigration: {true, false}, SwitchToExternal: {true, false}, DisableLeaderMigration: {false, false},
	} {
		within, below := c.Within(shown)
		assert.Truef(t, within == want[0] && below == want[1], "%q: %t, %t", shown, within, below)
	}
}

func TestTheGapOfAnUndoIsOneOfLeaderMigration(t *testing.T) {
	gaps := func(target transform.Target) []string {
		return lists.Where(Names(), func(name string) bool { return UndoGap(target, name) != "" })
	}
	assert.EqualSlices(t, gaps(short), nil)
	assert.Equal(t, len(gaps(long)), 4, gaps(long))
}

func TestWhoRunsTheControllersIsReportedForEveryStage(t *testing.T) {
	printed := lists.Map(append([]string{""}, Names()...), func(name string) string { return LeaderAfter(name, transform.Target{}) })
	assert.True(t, !slices.Contains(printed, ""), printed)
	assert.Equal(t, len(lists.Distinct(printed)), 6, printed)
}

func TestWithoutAManagerToMigrateFromItIsReportedWhenTheMigrationIsComplete(t *testing.T) {
	const noManagerRuns, cloudRuns = "no manager runs the cloud controllers", "the cloud-controller-manager runs the cloud controllers"
	for _, c := range []struct {
		in    transform.Situation
		stage string
		want  string
	}{
		{transform.NamesOnly, "", noManagerRuns},
		{transform.NamesOnly, InstallCCM, cloudRuns},
		{transform.NamesOnly, SwitchToExternal, cloudRuns},
		{transform.NamesOnly, SetProviderIDs, atTheEnd},
		{transform.Broken, SwitchToExternal, noManagerRuns},
		{transform.Broken, InstallCCM, cloudRuns},
		{transform.Broken, VerifyProviderIDs, atTheEnd},
	} {
		assert.Equal(t, LeaderAfter(c.stage, transform.Target{}.In(c.in)), c.want, c.in, "after", c.stage)
	}
}

func TestTheSwitchPromisesNoGapWithoutLeaderMigration(t *testing.T) {
	with, _ := Migration{Target: long}.SwitchWhy(false, nil)
	without, _ := Migration{Target: short}.SwitchWhy(false, nil)
	assert.Equal(t, with, without+"Expect a gap of 16 to 20 seconds in which no manager runs the cloud controllers. ", without)
}

// verify --stage decides as the plan does where it says that it can: in a broken cluster the
// switch comes before the chart, which verify does not know.
func TestAGateChecksWhatItsStagePromises(t *testing.T) {
	for _, c := range []struct {
		name   string
		target transform.Target
		not    []string
	}{
		{"the usual migration", transform.Target{}, nil},
		{"with leader migration kept", transform.Target{KeepLeaderMigration: true}, nil},
		{"without leader migration", transform.Target{NoLeaderMigration: true}, nil},
		{"a broken cluster", transform.Target{}.In(transform.Broken), []string{SwitchToExternal}},
		{"an external cluster", transform.Target{}.In(transform.External), nil},
		{"an upgrade", transform.Target{Upgrade: transform.UpgradeByStages, Version: "v1.27.16+rke2r1"}, nil},
	} {
		not := lists.Map(lists.Where(order(c.target), func(s *Stage) bool { return !Gated(s.Name, c.target) }), func(s *Stage) string { return s.Name })
		assert.Truef(t, slices.Equal(not, c.not), "%s: no gate for %v, want %v", c.name, not, c.not)
	}
}

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
	set := func(c Migration) []transform.Listed {
		made := func(complete func(transform.Stage) transform.Stage) func() transform.Stage {
			return func() transform.Stage { return complete(transform.Stage{Why: "Own."}) }
		}
		cordoning := Cordoning{Selector: c.Selector, Cluster: "heron", Why: "No pods.", ReleaseWhy: "Pods again."}
		return c.InOrder(Set{
			Grant: made(c.Grant), Enable: made(c.Enable), Cordon: cordoning.Stage, Uncordon: cordoning.Release,
			Install: made(func(s transform.Stage) transform.Stage { return c.Install(s, "do both at once") }),
			Switch:  made(c.Switch),
			Disable: made(c.Disable),

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
			for _, listed := range set(Migration{Target: c.target, Selector: selector}) {
				s := listed.Stage()
				names = append(names, s.Name)
				assert.Truef(t, s.Why != "" && len(s.Verify)+len(s.After) != 0, "%s: %s says nothing, or shows nothing", name, s.Name)
			}
			assert.EqualSlices(t, names, c.want, name)
		}
	}
	alone := Migration{Target: short}.InOrder(Set{Install: func() transform.Stage { return transform.Stage{} }})
	assert.Truef(t, len(alone) == 2 && alone[0].Name == InstallCCM && alone[1].Name == VerifyProviderIDs, "a format without the switch has %v", alone)
}
