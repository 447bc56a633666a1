// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

var generated = transform.Target{LeaderMigrationConfig: transform.ConfigGenerate}

// with returns generated with a change.
func with(change func(*transform.Target)) transform.Target {
	t := generated
	change(&t)
	return t
}

const (
	bothFlags = "services:\n  kube-controller:\n    extra_args:\n      enable-leader-migration: \"true\"\n      leader-migration-config: /etc/kubernetes/leadermigration.conf\n"
	otherArgs = "services:\n  kube-controller:\n    extra_args:\n      v: \"2\"\n      profiling: \"false\"\n"
	ownConfig = "services:\n  kube-controller:\n    extra_args:\n      leader-migration-config: /etc/kubernetes/own.conf\n"
)

func TestEnableNamesTheConfiguration(t *testing.T) {
	runStage(t, stages.EnableLeaderMigration, generated, []stageCase{
		{"no services", onAWS, onAWS + bothFlags},
		{"other arguments", onAWS + otherArgs, onAWS + otherArgs + "      enable-leader-migration: \"true\"\n      leader-migration-config: /etc/kubernetes/leadermigration.conf\n"},
		{"the flag alone", onAWS + flagged, onAWS + bothFlags},
		{"the flag repeated", onAWS + "services:\n  kube-controller:\n    extra_args_array:\n      enable-leader-migration:\n      - \"true\"\n",
			onAWS + "services:\n  kube-controller:\n    extra_args_array:\n      enable-leader-migration:\n      - \"true\"\n    extra_args:\n      leader-migration-config: /etc/kubernetes/leadermigration.conf\n"},
		{"one of its own", onAWS + ownConfig, onAWS + ownConfig + "      enable-leader-migration: \"true\"\n"},
	})
}

// planned builds a plan and lets nothing be blocked but by the names of nodes.
func planned(t *testing.T, text string, target transform.Target) *plan.Plan {
	t.Helper()
	target.Accept = append(target.Accept, "node-address-missing")
	p := planAt(t, text, target)
	for _, s := range p.Steps {
		assert.Truef(t, s.State != plan.Blocked, "%s is blocked: %+v", s.Stage.Name, s.Findings)
	}
	return p
}

func TestConfigurationsGoWithTheSwitchAndComeBack(t *testing.T) {
	for _, c := range []struct {
		name, config string
		target       transform.Target
	}{
		{"nothing else", onAWS, generated},
		{"other arguments", onAWS + otherArgs, generated},
		{"another lease", onAWS + otherArgs, with(func(t *transform.Target) { t.LeaseName = "demo-migration" })},
		{"one of its own", onAWS + ownConfig, generated},
		{"one of its own that was not requested", onAWS + ownConfig, transform.Target{}},
		{"a usual one that was not requested", onAWS + strings.Replace(bothFlags, "      enable-leader-migration: \"true\"\n", "", 1), transform.Target{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := c.target
			target.CanonicalForm = true
			p := planned(t, at(release, c.config), target)
			s, _ := p.Step(stages.SwitchToExternal)
			own := strings.Contains(c.config, configFlag)
			got := string(s.After()[0].Bytes())
			assert.Truef(t, !strings.Contains(got, leaderFlag) && strings.Contains(got, configFlag) == own, "the switch leaves\n%s", got)
			for _, s := range p.Steps {
				if !s.Changes() {
					continue
				}
				steps := assert.Value(plan.Undo(Format(), s.After(), p.Target, s.Stage.Name, false))(t)
				assert.Mustf(t, len(steps) == 1, "%s: %d steps", s.Stage.Name, len(steps))
				back := steps[0].After()[0].Bytes()
				assert.Truef(t, bytes.Contains(back, []byte(configFlag)) == bytes.Contains(s.Before()[0].Bytes(), []byte(configFlag)), "%s comes back to\n%s", s.Stage.Name, back)
			}
		})
	}
}

func TestBothConfigurationsFitTheirManagers(t *testing.T) {
	for _, c := range []struct {
		name, version string
		target        transform.Target
	}{
		{"as usual", release, generated},
		{"a version with a lock", "v1.23.16-rancher2-3", generated},
		{"a newer image", release, with(func(t *transform.Target) { t.ImageTag = "v1.28.1" })},
		{"another lease", release, with(func(t *transform.Target) { t.LeaseName = "demo-migration" })},
	} {
		m := opened(t, at(c.version, onAWS), c.target)
		manager := configurationIn(t, files(t, at(c.version, onAWS), stages.EnableLeaderMigration, c.target)[leadermigration.ConfigFile])
		installed := files(t, at(c.version, onAWS), stages.InstallCCM, c.target)
		cloud := configurationIn(t, installed[configMapFile])
		chart := chartOf(t, installed[valuesFile])
		found := leadermigration.Lint(manager, leadermigration.Reader{Component: leadermigration.Manager, Version: m.Version, Lease: c.target.Lease()})
		found = append(found, leadermigration.Lint(cloud, leadermigration.Reader{Component: leadermigration.CloudManager, Version: chart.ImageTag(), Lease: c.target.Lease()})...)
		found = append(found, leadermigration.LintBoth(manager, cloud)...)
		assert.Truef(t, len(found) == 0 && chart.ConfigMounted(), "%s: %+v in\n%s", c.name, found, installed[valuesFile])
	}
}

func configurationIn(t *testing.T, text string) yamledit.Node {
	t.Helper()
	roots, found, err := leadermigration.Read(yamledit.Chunk{File: "made.yaml", Bytes: []byte(text)})
	assert.Mustf(t, err == nil && len(found) == 0 && len(roots) == 1, "%v %+v in\n%s", err, found, text)
	return roots[0]
}

func TestTheLastValuesHaveAConfigurationOnlyIfItStays(t *testing.T) {
	const newer = "v1.28.1"
	for _, c := range []struct {
		name   string
		target transform.Target
		tag    string
		config bool
	}{
		{"it goes", with(func(t *transform.Target) { t.ImageTag = newer }), "v1.26.6", false},
		{"it stays, and its image with it", with(func(t *transform.Target) {
			t.ImageTag, t.KeepLeaderMigration, t.Version = newer, true, "v1.27.16-rancher1-1"
		}), newer, true},
		{"it stays, and the image moves", with(func(t *transform.Target) { t.KeepLeaderMigration, t.Version = true, "v1.27.16-rancher1-1" }), "v1.27.2", true},
	} {
		chart := chartOf(t, files(t, at(release, onAWS), stages.DisableLeaderMigration, c.target)[finalValuesFile])
		assert.Truef(t, chart.ImageTag() == c.tag && (chart.ConfigFile() != "") == c.config && chart.ConfigMounted() == c.config, "%s: %s, %q", c.name, chart.ImageTag(), chart.ConfigFile())
		drops := slices.ContainsFunc(stageOf(t, opened(t, at(release, onAWS), c.target), stages.DisableLeaderMigration).After, func(a action.Action) bool {
			d, is := a.Op.(action.Delete)
			return is && d.Name == ccm.MigrationConfigMap
		})
		assert.Truef(t, drops != c.config, "%s: the ConfigMap goes: %v", c.name, drops)
	}
}

func TestChecksNoticeAWrongConfiguration(t *testing.T) {
	config := strings.Replace(bothFlags, "      enable-leader-migration: \"true\"\n", "", 1)
	for _, c := range []struct {
		name, stage, before, after string
		target                     transform.Target
		want                       string
	}{
		{"it is missing", stages.EnableLeaderMigration, onAWS, onAWS + flagged, generated, "would not get leader-migration-config"},
		{"it is another one", stages.EnableLeaderMigration, onAWS, onAWS + strings.Replace(bothFlags, "/leadermigration", "/other", 1), generated, "leader-migration-config would change"},
		{"it was not requested", stages.EnableLeaderMigration, onAWS, onAWS + bothFlags, transform.Target{}, "leader-migration-config would change"},
		{"it stayed", stages.SwitchToExternal, onAWS + bothFlags, isOut + config, generated, "would keep leader-migration-config"},
		{"it went although no undo could tell", stages.SwitchToExternal, onAWS + bothFlags, isOut, transform.Target{}, "would change"},
	} {
		assert.ErrorContains(t, checked(t, c.stage, c.before, c.after, c.target), c.want, c.name)
	}
}

func TestAMigrationWithoutLeaderMigrationHasNoConfiguration(t *testing.T) {
	got := files(t, at(release, onAWS+bothFlags), stages.InstallCCM, transform.Target{NoLeaderMigration: true})
	assert.True(t, len(got) == 1 && !strings.Contains(got[valuesFile], configFlag), got)
}

func TestWhatCannotCarryAConfigurationIsRefused(t *testing.T) {
	_, err := plan.Build(Format(), transform.Only(parse(t, at(release, onAWS))), with(func(t *transform.Target) { t.ChartVersion = "0.0.6" }))
	assert.ErrorContains(t, err, "a chart older than 0.0.7 mounts no configuration")
	_, err = stageOf(t, opened(t, at(release, onAWS), with(func(t *transform.Target) { t.ImageTag = "own" })), stages.InstallCCM).Files()
	assert.ErrorContains(t, err, "choose a release with --ccm-image-tag")
}

func TestRulesOfConfigurations(t *testing.T) {
	const unflagged = "services:\n  kube-controller:\n    extra_args: {leader-migration-config: /etc/kubernetes/a.conf}\n"
	checkRule(t, "config-without-flag", []ruleCase{
		{name: "with its flag", config: onAWS + strings.Replace(unflagged, "{", "{enable-leader-migration: 'true', ", 1)},
		{name: "without it", config: onAWS + unflagged, want: []string{"error 6"}},
		{name: "of an external manager", config: isOut + unflagged, want: []string{"note 7"}},
	})
	in := func(path, binds string) string {
		return onAWS + "services:\n  kube-controller:\n    extra_args: {enable-leader-migration: 'true', leader-migration-config: " + path + "}\n" + binds
	}
	checkRule(t, "config-not-mounted", []ruleCase{
		{name: "in the usual folder", config: in("/etc/kubernetes/a/b.conf", "")},
		{name: "in another folder", config: in("/etc/a.conf", ""), want: []string{"error 6"}},
		{name: "in a folder that begins alike", config: in("/etc/kubernetes-own/a.conf", ""), want: []string{"error 6"}},
		{name: "in a folder that is mounted", config: in("/etc/own/a.conf", "    extra_binds: ['/opt/own:/etc/own:ro']\n")},
		{name: "in a folder that is mounted elsewhere", config: in("/etc/own/a.conf", "    extra_binds: ['/etc/own:/opt/own']\n"), want: []string{"error 6"}},
	})
}
