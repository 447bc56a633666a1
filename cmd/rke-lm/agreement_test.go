// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// world is what a cluster shows: three control planes, on which both managers run alike.
type world struct {
	kube, cloud string // "" for none; else the provider, and "+flag"
	holder      string // of the migration lease: kube, cloud, dead, a stranger; "" for no lease
	followed    bool   // the leases were seen to move
}

func (w world) String() string {
	return fmt.Sprintf("kube-controller-manager %q, cloud-controller-manager %q, lease of %q, followed %t", w.kube, w.cloud, w.holder, w.followed)
}

// worlds are all of them.
func worlds() []world {
	var all []world
	for _, kube := range []string{"", "aws", "aws+flag", "external", "external+flag"} {
		for _, cloud := range []string{"", "aws", "aws+flag"} {
			for _, holder := range []string{"", "kube", "cloud", "dead", "a stranger"} {
				for _, followed := range []bool{true, false} {
					all = append(all, world{kube, cloud, holder, followed})
				}
			}
		}
	}
	return all
}

// observed is the world as rke-lm sees it.
func (w world) observed() *observed.Observation {
	o := &observed.Observation{APIVersion: observed.APIVersion, Kind: observed.Kind, Version: "v1.26.15"}
	for _, user := range []string{leadermigration.ManagerUser, leadermigration.CloudAccount()} {
		for _, verb := range []string{"get", "create", "update"} {
			o.Reviews = append(o.Reviews, observed.AccessReview{User: user, Verb: verb, Lease: leadermigration.Lease, Allowed: true})
		}
	}
	arguments := func(list string, more ...string) []string {
		provider, flag := strings.CutSuffix(list, "+flag")
		more = append(more, "--cloud-provider="+provider)
		if flag {
			more = append(more, "--enable-leader-migration=true")
		}
		return more
	}
	for i, host := range []string{"heron-1", "heron-2", "heron-3"} {
		o.Nodes = append(o.Nodes, observed.Node{Name: host, UID: "uid-" + host, ProviderID: fmt.Sprintf("aws:///eu-central-1a/i-0c3f9a71d%08x", i+1), Ready: &observed.Condition{Status: "True"}, Labels: map[string]string{
			"node-role.kubernetes.io/control-plane": "true", observed.RegionLabel: "eu-central-1", observed.InstanceTypeLabel: "m5.large", "topology.kubernetes.io/zone": "eu-central-1a",
		}})
		if w.kube != "" {
			o.Managers = append(o.Managers, observed.Manager{Component: observed.KubeManager, Pod: "kube-controller-manager-" + host, Node: host, Hosts: []string{host}, Args: arguments(w.kube), Running: true})
		}
		if w.cloud != "" {
			o.Managers = append(o.Managers, observed.Manager{Component: observed.CloudManager, Pod: "aws-cloud-controller-manager-" + host, Node: host, Hosts: []string{host}, Image: "ccm:v1.26.6", Args: arguments(w.cloud, "--configure-cloud-routes=false"), Running: true})
		}
	}
	lease := func(name, holder string) {
		o.Leases = append(o.Leases, observed.Lease{Name: name, Holder: holder, DurationSeconds: 15, Changed: w.followed, SilentSeconds: 1})
	}
	lease(observed.KubeManager, "heron-1_kube")
	if w.cloud != "" {
		o.DaemonSets = []observed.DaemonSet{{Namespace: "kube-system", Name: "aws-cloud-controller-manager", Image: "ccm:v1.26.6", Args: arguments(w.cloud, "--configure-cloud-routes=false"), Observed: true, Desired: 3, Updated: 3, Ready: 3}}
		lease(observed.CloudManager, "heron-2_cloud")
	}
	switch w.holder {
	case "kube":
		lease(leadermigration.Lease, "heron-1_kube")
	case "cloud":
		lease(leadermigration.Lease, "heron-2_cloud")
	case "dead":
		lease(leadermigration.Lease, "heron-3_kube")
		o.Leases[len(o.Leases)-1].SilentSeconds = 90
	case "a stranger":
		lease(leadermigration.Lease, "elsewhere_1")
	}
	return o
}

// planIn plans the cluster of a format.
func planIn(t *testing.T, d transform.Format, target transform.Target) *plan.Plan {
	t.Helper()
	return assert.Value(plan.Build(d, openGolden(t, d, inEachFormat[d.Name], target).Documents(), target))(t)
}

// plansIn are those of a cluster of a format by its documents alone, and with the values file that
// the operator names.
func plansIn(t *testing.T, d transform.Format, target transform.Target) []*plan.Plan {
	t.Helper()
	plans := []*plan.Plan{planIn(t, d, target)}
	values := assert.Value(yamledit.ParseString("values.yaml", golden.Input(t, "rke1-values").Files["values.yaml"]))(t)
	docs, err := d.Grouping.WithValues(plans[0].Start, values)
	if err != nil {
		return plans // it takes none
	}
	p := assert.Value(plan.Build(d, docs, target))(t)
	return append(plans, p)
}

// Whatever a cluster shows, verify --stage stops where migrate waits, and for the same reason.
func TestVerifyAndMigrateGiveOneAnswer(t *testing.T) {
	sweep(t)
	var dumps []*observed.Observation
	for _, c := range golden.Inputs(t, "live-") {
		o := assert.Value(observe.ReadDumpFrom(c.Name, strings.NewReader(c.Text())))(t)
		dumps = append(dumps, o)
	}
	for _, w := range worlds() {
		dumps = append(dumps, w.observed())
	}
	for _, d := range formats() {
		agree(t, d, planIn(t, d, transform.Target{EndState: transform.EndStateExternal}), dumps)
	}
}

// The same holds on a cluster that never had a manager to migrate from.
func TestVerifyAndMigrateGiveOneAnswerPast126(t *testing.T) {
	var dumps []*observed.Observation
	for _, w := range worlds() {
		if o := w.observed(); !strings.Contains(w.kube+w.cloud, "flag") { // or else it takes part in a migration
			o.Version = "v1.33.3+rke2r1"
			dumps = append(dumps, o)
		}
	}
	d := rke2.Format()
	agree(t, d, assert.Value(plan.Build(d, openGolden(t, d, "rke2-past-126-names-only-pools-override", transform.Target{}).Documents(), transform.Target{}))(t), dumps)
}

// agree requires that verify --stage stops after each stage of a plan where migrate waits, and for the same reason.
func agree(t *testing.T, d transform.Format, p *plan.Plan, dumps []*observed.Observation) {
	t.Helper()
	for _, step := range p.Steps {
		stage := step.Stage.Name
		held, l := 0, assert.Value(transition.Planner{Format: d, Target: p.Target}.Plan(p, stage, false, &observed.Observation{}))(t)
		asked := check.Choice{Check: stages.After(stage, transform.Target{})} // as the flag --stage has it
		if !p.Target.Situation.HasInTreeProvider() {
			asked.Late = stages.Late(stage)
		}
		for _, o := range dumps {
			v := check.Evaluate(o, asked)
			waits := check.Evaluate(o, check.Choice{Check: l.Check}).Unmet()
			stops := slices.ContainsFunc(v.Findings, transform.Finding.Stops)
			assert.Truef(t, stops == (len(waits) > 0) && slices.Equal(rulesOf(v.Unmet()), rulesOf(waits)), "%s after %s: verify stops for %v, migrate for %v", d.Name, stage, rulesOf(v.Unmet()), rulesOf(waits))
			if v.OK() {
				held++
			}
		}
		assert.Truef(t, held != 0 && held != len(dumps), "%s: %s holds for %d of %d clusters", d.Name, stage, held, len(dumps))
	}
}

// migrationStages are the stages of a cluster with an in-tree provider.
func migrationStages() []string {
	return slices.DeleteFunc(stages.Names(), func(name string) bool {
		return slices.Contains([]string{stages.SetProviderIDs, stages.UpgradeKubernetes, stages.UpgradeCCM}, name)
	})
}

func rulesOf(list []transform.Finding) []string {
	return lists.Map(list, func(f transform.Finding) string { return f.Rule })
}

// A cluster as it is after each stage, and the stages for which it is in order.
func TestAClusterIsInOrderForTheStagesThatItShows(t *testing.T) {
	const (
		grant, enable, install, cordon = stages.GrantMigrationLease, stages.EnableLeaderMigration, stages.InstallCCM, stages.CordonControlPlane
		change, uncordon, disable, end = stages.SwitchToExternal, stages.UncordonControlPlane, stages.DisableLeaderMigration, stages.VerifyProviderIDs
	)
	for _, c := range []struct {
		name string
		w    world
		want []string
	}{
		{"granted", world{"aws", "", "", true}, []string{grant}},
		{"enabled", world{"aws+flag", "", "kube", true}, []string{grant, enable}},
		{"installed", world{"aws+flag", "aws+flag", "kube", true}, []string{grant, enable, install, cordon}},
		{"a leader was lost, and the cloud-controller-manager holds the lease", world{"aws+flag", "aws+flag", "cloud", true}, []string{grant, install, cordon}},
		{"switched", world{"external", "aws+flag", "cloud", true}, []string{grant, enable, install, cordon, change, uncordon, end}},
		{"at the end", world{"external", "aws", "", true}, []string{grant, disable, end}},
		{"the flag is left", world{"external+flag", "aws+flag", "kube", true}, []string{grant}},
		{"no one holds the lease", world{"aws+flag", "aws+flag", "dead", true}, []string{grant}},
		{"a stranger holds it", world{"aws+flag", "aws+flag", "a stranger", true}, []string{grant}},
		{"two owners", world{"aws", "aws", "", true}, nil},
		{"RKE, installed", world{"", "aws+flag", "kube", true}, []string{grant, enable, install, cordon}},
		{"RKE, a leader was lost", world{"", "aws+flag", "cloud", true}, []string{grant, install, cordon, change, uncordon, end}}, // who is external does not show
		{"RKE, at the end", world{"", "aws", "dead", true}, []string{grant, disable, end}},
	} {
		var got []string
		for _, stage := range migrationStages() {
			if check.Evaluate(c.w.observed(), check.Choice{Check: stages.After(stage, transform.Target{})}).OK() {
				got = append(got, stage)
			}
		}
		assert.EqualSlices(t, got, c.want, c.name)
	}
}

// leaseSentences are what the commands of a runbook say of the migration lease.
func leaseSentences(actions []action.Action) []string {
	var list []string
	for _, a := range actions {
		if strings.Contains(a.Command, "get leases") {
			sentence, _, _ := strings.Cut(a.Why, ":")
			list = append(list, sentence)
		}
	}
	return list
}

// promise is a sentence of a runbook, and the check that it is about.
type promise struct {
	stage, sentence string
	check           stages.Check
}

// promisesOf are those of one stage.
func promisesOf(s transform.Stage, t transform.Target) []promise {
	after, undone := stages.After(s.Name, t), stages.Undone(s.Name, t)
	var list []promise
	for _, sentence := range leaseSentences(slices.Concat(s.Verify, s.After)) {
		list = append(list, promise{s.Name, sentence, after})
	}
	for _, sentence := range leaseSentences(s.Before) {
		first, then, _ := strings.Cut(sentence, ";")
		list = append(list, promise{"before " + s.Name, first, stages.Before(s.Name, t)}, promise{s.Name, then, after})
	}
	for _, sentence := range leaseSentences(s.UndoAfter) {
		list = append(list, promise{"undo of " + s.Name, sentence, undone})
	}
	return list
}

// Who may hold the lease is what the words of the runbook say: verify and migrate object to
// every other manager, and to none that the runbook names.
func TestARunbookNamesThoseWhoMayHoldTheLease(t *testing.T) {
	for _, d := range formats() {
		for _, p := range plansIn(t, d, transform.Target{EndState: transform.EndStateExternal}) {
			runbookNamesHolders(t, d, p)
		}
	}
}

func runbookNamesHolders(t *testing.T, d transform.Format, p *plan.Plan) {
	t.Helper()
	read := map[string]bool{}
	for _, step := range p.Steps {
		for _, promised := range promisesOf(step.Stage, p.Target) {
			read[promised.stage] = true
			for _, w := range worlds() {
				external := strings.HasPrefix(w.kube, "external")
				if w.holder != "kube" && w.holder != "cloud" || w.cloud != "aws+flag" || w.kube == "" || strings.HasSuffix(w.kube, "+flag") == external || external != promised.check.External {
					continue // no such lease, or another point of the migration
				}
				v := check.Evaluate(w.observed(), check.Choice{Check: promised.check})
				wrong := slices.Contains(rulesOf(v.Unmet()), "lease-wrong-holder")
				named := strings.Contains(promised.sentence, map[string]string{"kube": leadermigration.Manager, "cloud": leadermigration.CloudManager}[w.holder])
				assert.Truef(t, named != wrong, "%s, %s: %q; verify and migrate find %v\n%s", d.Name, promised.stage, promised.sentence, rulesOf(v.Unmet()), w)
			}
		}
	}
	want := map[string][]string{
		"rke2": {"before switch-to-external", "enable-leader-migration", "install-ccm", "switch-to-external", "undo of install-ccm", "undo of switch-to-external", "verify-provider-ids"},
		"rke1": {"before switch-to-external", "enable-leader-migration", "install-ccm", "switch-to-external", "undo of install-ccm", "undo of switch-to-external", "verify-provider-ids"},
		// the cloud-controller-manager is in a manifest of its own
		"manifest": {"before switch-to-external", "enable-leader-migration", "switch-to-external", "undo of switch-to-external", "verify-provider-ids"},
	}[d.Name]
	for _, stage := range want {
		assert.Truef(t, read[stage], "%s: the runbook says nothing of the lease: %s", d.Name, stage)
	}
}

// With --keep-leader-migration the last edit leaves the flag on the
// cloud-controller-manager, and the check after that edit differs.
func TestVerifyChecksTheStagesThatWerePlanned(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dump.yaml")
	assert.NilError(t, observe.WriteDump(file, world{"external", "aws+flag", "cloud", true}.observed()))
	verify := "verify --stage disable-leader-migration --from " + file
	shows(t, transform.ExitFound, verify, "stage-not-reached")
	shows(t, transform.ExitDone, verify+" --keep-leader-migration")
	shows(t, transform.ExitInput, verify+" --keep-leader-migration --no-leader-migration", "mutually exclusive")
}
