// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

var generated = transform.Target{EndState: transform.EndStateExternal, LeaderMigrationConfig: transform.ConfigGenerate, Accept: chosen.Accept}

// with returns generated with a change.
func with(change func(*transform.Target)) transform.Target {
	t := generated
	change(&t)
	return t
}

// openAfter opens the cluster as it is after a stage.
func openAfter(t *testing.T, p *plan.Plan, stage string) *migration {
	t.Helper()
	c := assert.Value(open(transform.Only(step(t, p, stage).Documents[0].After), p.Target))(t)
	return c.(*migration)
}

// shapes are clusters whose managers can be distinguished only with care.
var shapes = []struct {
	name, version, config string
	target                transform.Target
}{
	{"a custom cluster", release, onAWS, generated},
	{"pools of one role each", release, split + onAWS, generated},
	{"arguments for all machines", release, split + onAWS + twoArgs + ownManifest, generated},
	{"arguments as a string", release, onAWS + "  kube-controller-manager-arg: --v=2\n", generated},
	{"arguments of one zone", release, twoZones + onAWS + "machineSelectorConfig:\n- config: {kube-controller-manager-arg: [v=2]}\n  " + forZoneA + "\n", generated},
	{"the flag is there, the configuration is not", release, onAWS + "  kube-controller-manager-arg: [v=2, enable-leader-migration]\n", generated},
	{"other files", release, onAWS + "machineSelectorFiles:\n- fileSources:\n  - secret: {name: audit, items: [{key: policy, path: /etc/audit.yaml}]}\n", generated},
	{"no files", release, onAWS + "machineSelectorFiles: []\n", generated},
	{"files that are null", release, onAWS + "machineSelectorFiles:\n", generated},
	{"an old release, whose configuration has a lock", "v1.22.17+rke2r1", onAWS, generated},
	{"an image with other names", release, onAWS, with(func(t *transform.Target) { t.ImageTag = "v1.28.1" })},
	{"another lease", release, onAWS, with(func(t *transform.Target) { t.LeaseName = "demo-migration" })},
	{"the flag stays", release, onAWS, with(func(t *transform.Target) { t.KeepLeaderMigration, t.ImageTag = true, "v1.28.1" })},
	{"an upgrade", release, onAWS, with(func(t *transform.Target) { t.Version = "v1.26.99+rke2r1" })},
	{"a cloud configuration next to it", release, onAWS + "  cloud-provider-config: |\n    [Global]\n    Zone = a\n", generated},
	{"the override", release, split + onAWS + twoArgs, with(func(t *transform.Target) { t.EndState = transform.EndStateOverride })},
	{"a chart that is there", release, onAWS + withChart(good...), generated},
	{"a chart with a newer image", release, onAWS + withChart("image: {tag: v1.29.3}", good[1], good[2], good[3]), generated},
	{"a chart without a tag", release, onAWS + withChart(good[1:]...), with(func(t *transform.Target) { t.ImageTag = "v1.28.1" })},
	{"a chart with mounts", release, onAWS + withChart(append([]string{"extraVolumes: [{name: a, emptyDir: {}}]", "extraVolumeMounts: [{name: a, mountPath: /a}]"}, good...)...), generated},
}

func TestBothManagersGetAConfigurationThatFits(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			p := planned(t, s.version, s.config, s.target)
			for _, st := range p.Steps {
				assert.Truef(t, st.State != plan.Blocked, "%s is blocked: %+v", st.Stage.Name, st.Findings)
			}
			m := openAfter(t, p, stages.InstallCCM)
			fits(t, m)
			for _, c := range m.Classes {
				a, _ := args.Last(args.Of(m.Effective(c)[managerArgs].Value), configFlag)
				_, _, gets := m.Delivered(c, managerConfig)
				assert.Truef(t, !c.ControlPlane() || a.Value == managerConfig && gets, "class %s reads %q", c.Name, a.Value)
			}
			end := string(step(t, p, stages.DisableLeaderMigration).Documents[0].After.Bytes())
			assert.Equal(t, strings.Contains(end, "--"+configFlag), s.target.KeepLeaderMigration, "at the end the chart has a configuration:", end)
			assert.Equal(t, strings.Contains(end, leadermigration.Kind), s.target.KeepLeaderMigration, "at the end a ConfigMap holds a configuration:", end)
			assert.Truef(t, !strings.Contains(end, "- "+configFlag), "kube-controller-manager keeps its configuration:\n%s", end)
		})
	}
}

// fits checks the two configurations, each as its manager reads it and against
// the other.
func fits(t *testing.T, m *migration) {
	t.Helper()
	files := assert.Value(m.enableFiles())(t)
	object := parse(t, files[0].Content).Root()
	name, _ := object.Get("metadata", "annotations", "rke.cattle.io/object-authorized-for-clusters").String()
	assert.Truef(t, name == m.Name, "the ConfigMap is authorized for %q", name)
	manager := configurationIn(t, object.Get("data", leadermigration.ConfigFile))
	docs := assert.Value(m.manifests())(t)
	chart, _, _ := m.chart()
	at, _ := chart.Config(docs)
	cloud := configurationIn(t, at)
	found := leadermigration.Lint(manager, leadermigration.Reader{Component: leadermigration.Manager, Version: m.minor(), Lease: m.Target.Lease()})
	found = append(found, leadermigration.Lint(cloud, leadermigration.Reader{Component: leadermigration.CloudManager, Version: chart.ImageMinor(), Lease: m.Target.Lease()})...)
	found = append(found, leadermigration.LintBoth(manager, cloud)...)
	assert.Truef(t, len(found) == 0, "%+v", found)
	assert.True(t, leadermigration.Granted(docs, m.Target.Lease()), "the managers may not lock the lease")
}

func configurationIn(t *testing.T, at yamledit.Node) yamledit.Node {
	t.Helper()
	root, found, err := leadermigration.Embedded(at)
	assert.Mustf(t, err == nil && len(found) == 0 && root.Exists(), "no configuration at %s: %v %+v", at.Path(), err, found)
	return root
}

func TestAHalfMigratedFileSaysThatConfigurationsAreUsed(t *testing.T) {
	half := step(t, planned(t, release, onAWS, generated), stages.EnableLeaderMigration).After()
	p := assert.Value(plan.Build(Format(), half, inTurn))(t)
	s := step(t, p, stages.EnableLeaderMigration)
	assert.True(t, s.State == plan.Done, s.State)
	fits(t, openAfter(t, p, stages.InstallCCM))
}

func TestAConfigurationOfOnesOwnStays(t *testing.T) {
	const own = "  kube-controller-manager-arg: [leader-migration-config=/etc/own.conf, v=2]\nmachineSelectorFiles:\n- fileSources:\n  - secret: {name: own, items: [{key: c, path: /etc/own.conf}]}\n"
	p := planned(t, release, onAWS+own, generated)
	enabled := configOf(step(t, p, stages.EnableLeaderMigration).Documents[0].After)
	assert.True(t, strings.Contains(enabled, "[leader-migration-config=/etc/own.conf, v=2, enable-leader-migration]") && !strings.Contains(enabled, managerConfig), enabled)
	assert.Contains(t, configOf(step(t, p, stages.SwitchToExternal).Documents[0].After), "[leader-migration-config=/etc/own.conf, v=2]")
}

func TestAFileThatBringsTheConfigurationMayBeWrittenOtherwise(t *testing.T) {
	const own = "machineSelectorFiles:\n- fileSources:\n  - secret: {name: own, items: [{key: c, path: " + managerConfig + "}]}\n"
	p := planned(t, release, determined+own, inTurn)
	s := step(t, p, stages.SwitchToExternal)
	assert.Truef(t, strings.Contains(configOf(s.Documents[0].Before), managerConfig+"]") && !strings.Contains(configOf(s.Documents[0].After), configFlag+"="+managerConfig), "%s\nbecomes\n%s", configOf(s.Documents[0].Before), configOf(s.Documents[0].After))
	was, is, err := back(t, determined+own, stages.SwitchToExternal, inTurn)
	assert.Truef(t, err == nil && was == is, "%v\n%s", err, is)
}

func TestAChartsOwnConfigurationStays(t *testing.T) {
	const named = "args: [--cloud-provider=aws, --configure-cloud-routes=false, --enable-leader-migration=true, --leader-migration-config=/etc/own/c.conf]"
	own := withChart(append([]string{"extraVolumes: [{name: own, secret: {secretName: own}}]", "extraVolumeMounts: [{name: own, mountPath: /etc/own}]", named, good[0]}, good[2:]...)...)
	s := step(t, planned(t, release, onAWS+own, generated), stages.InstallCCM)
	after := configOf(s.Documents[0].After)
	assert.True(t, !strings.Contains(after, leadermigration.Kind) && !strings.Contains(after, "extraVolumes: [{name: own, secret: {secretName: own}},"), after)
}

func TestAMigrationWithoutLeaderMigrationHasNoConfiguration(t *testing.T) {
	half := configOf(step(t, planned(t, release, onAWS, generated), stages.EnableLeaderMigration).Documents[0].After)
	p := planned(t, release, half, withoutMigration)
	after := configOf(step(t, p, stages.InstallCCM).Documents[0].After)
	assert.True(t, !strings.Contains(after, leadermigration.Kind) && !strings.Contains(after, "--"+configFlag), after)
}

func TestWhatCannotCarryAConfigurationIsRefused(t *testing.T) {
	old := with(func(t *transform.Target) { t.ChartVersion = "0.0.6" })
	alone := old
	alone.LeaderMigrationConfig = ""
	const mounts = "a chart older than 0.0.7 mounts no configuration; use --chart-version 0.0.8"
	for name, c := range map[string]struct {
		config, want string
		target       transform.Target
	}{
		"a new chart":                {onAWS, mounts, old},
		"a version that is no word":  {onAWS, "not YAML", with(func(t *transform.Target) { t.ChartVersion = "{a" })},
		"a chart that is":            {onAWS + strings.Replace(withChart(good...), "0.0.8", "0.0.6", 1), mounts, old},
		"a chart for the provider":   {onAWS + "  cloud-provider-config: '[Global]'\n", mounts, alone},
		"an image without a release": {onAWS, "choose a release with --ccm-image-tag", with(func(t *transform.Target) { t.ImageTag = "latest" })},
	} {
		assert.Error(plan.Build(Format(), transform.Only(parse(t, document(release, c.config))), c.target))(t, c.want, name)
	}
}

func TestResultsThatAreNotThePromisedOnes(t *testing.T) {
	const flag, named = "  kube-controller-manager-arg: [enable-leader-migration]\n", "  kube-controller-manager-arg: [enable-leader-migration, leader-migration-config=" + managerConfig + "]\n"
	const onExternal = "machineGlobalConfig:\n  cloud-provider-name: external\n  disable-cloud-controller: true\n"
	const chartNamed = "args: [--cloud-provider=aws, --configure-cloud-routes=false, --enable-leader-migration=true, --leader-migration-config=/etc/leader-migration/leadermigration.conf]"
	const files = "machineSelectorFiles:\n- fileSources:\n  - secret: {name: own, items: [{key: c, path: " + managerConfig + "}]}\n"
	withConfig := withChart(good[0], chartNamed, good[2], good[3])
	for _, c := range []struct{ name, stage, before, after, want string }{
		{"no configuration", stages.EnableLeaderMigration, onAWS, onAWS + flag, "would not get the file"},
		{"a configuration that nothing writes", stages.EnableLeaderMigration, onAWS, onAWS + named, "would not get the file"},
		{"a configuration that no argument names", stages.EnableLeaderMigration, onAWS + files, onAWS + flag + files, "would not get kube-controller-manager-arg with"},
		{"another argument", stages.EnableLeaderMigration, onAWS, onAWS + strings.Replace(named, "]", ", v=2]", 1), "kube-controller-manager-arg would change"},
		{"a chart without its mount", stages.InstallCCM, onAWS, onAWS + withConfig, "would not mount the manager's configuration"},
		{"a manager that keeps its configuration", stages.SwitchToExternal, onAWS + named, onExternal + strings.Replace(named, "enable-leader-migration, ", "", 1), "kube-controller-manager-arg would change"},
		{"a chart that keeps its configuration", stages.DisableLeaderMigration, onExternal + withConfig, onExternal + strings.Replace(withConfig, "--enable-leader-migration=true, ", "", 1), "would still have --leader-migration-config"},
	} {
		open := func(config string) *migration {
			return &migration{Cluster: opened(t, release, config), Migration: stages.Migration{Target: generated}}
		}
		err := stageOf(t, open(c.before), c.stage).Check(open(c.after))
		assert.ErrorContains(t, err, c.want, c.name)
	}
}

func TestConfigurationsAreUndoneStageByStage(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			target := s.target
			target.CanonicalForm = true
			p := planned(t, s.version, s.config, target)
			for _, st := range p.Steps {
				if !st.Changes() {
					continue
				}
				steps, err := plan.Undo(Format(), transform.Only(st.Documents[0].After), target, st.Stage.Name, false)
				switch {
				case err != nil && strings.Contains(s.config, "enable-leader") && st.Stage.Name != stages.DisableLeaderMigration,
					err != nil && strings.Contains(s.config, "HelmChart") && st.Stage.Name == stages.InstallCCM,
					err != nil && strings.Contains(s.config, "cloud-provider-config") && st.Stage.Name == stages.SwitchToExternal:
					continue // the file does not show what was there before
				case err != nil || len(steps) != 1:
					t.Errorf("%s: %d steps, %v", st.Stage.Name, len(steps), err)
				case st.Stage.Name == stages.EnableLeaderMigration && strings.Contains(configOf(steps[0].Documents[0].After), leadermigration.ConfigFile):
					t.Errorf("something is left:\n%s", configOf(steps[0].Documents[0].After))
				}
			}
		})
	}
}

func TestAConfigurationIsUndoneWithoutATrace(t *testing.T) {
	const files = "machineSelectorFiles:\n- fileSources:\n  - secret: {name: audit, items: [{key: policy, path: /etc/audit.yaml}]}\n"
	for _, stage := range stages.UndoNames() {
		leadsBack(t, "", determined+files, stage, generated)
	}
	_, _, err := back(t, determined, stages.EnableLeaderMigration, generated)
	refuses(t, "whether there were files", err, "machineSelectorFiles: it contains nothing else, and was either absent or empty before")
}
