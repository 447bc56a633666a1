// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// short is the least that CheckValues takes.
const short = "hostNetworking: true\n"

func valuesDoc(t *testing.T, text string) *yamledit.Document {
	t.Helper()
	return assert.Value(transform.Parse(yamledit.Chunk{File: "values.yaml", Bytes: []byte(text)}))(t)
}

// pair is a cluster.yml with its values file.
func pair(t *testing.T, config, values string) []*yamledit.Document {
	t.Helper()
	return assert.Value(withValues(transform.Only(parse(t, config)), valuesDoc(t, values)))(t)
}

// planOf plans both.
func planOf(t *testing.T, config, values string, target transform.Target) *plan.Plan {
	t.Helper()
	return assert.Value(plan.Build(Format(), pair(t, config, values), target))(t)
}

// ownValues are those that the stages make for a migration, and done those after it.
func ownValues(t *testing.T) (own, done string) {
	t.Helper()
	own, _ = ccm.Values(opened(t, at(release, onAWS+nodes), transform.Target{}).chartOptions(release), nil)
	return own, unflagged(own)
}

// unflagged takes the flag from values.
func unflagged(values string) string {
	return strings.Replace(values, "  - --enable-leader-migration=true\n", "", 1)
}

// valuesAfter returns the values file after a stage of a plan.
func valuesAfter(t *testing.T, p *plan.Plan, stage string) string {
	t.Helper()
	s, found := p.Step(stage)
	assert.Mustf(t, found, "no stage %s", stage)
	return string(s.After()[1].Bytes())
}

func commandsOf(actions []action.Action) string {
	return strings.Join(lists.Map(actions, func(a action.Action) string { return a.Command }), "\n")
}

func TestTheStagesEditTheValuesFileOfTheOperator(t *testing.T) {
	const own = "# mine\nargs: # few\n- --v=4\nresources: {requests: {cpu: 200m}}\n"
	p := planOf(t, at(release, onAWS+nodes), own, transform.Target{})
	text := valuesAfter(t, p, stages.InstallCCM)
	assert.True(t, strings.HasPrefix(text, "# mine\nargs: # few\n- --v=4\n- "), text)
	installed := chartOf(t, text)
	assert.True(t, installed.Migrates() && installed.ImageTag() == "v1.26.6" && !ccm.RoutesUnsafe(installed.Args()) && !installed.LacksProvider() && installed.Value("resources", "requests", "cpu") == "200m", text)
	text = valuesAfter(t, p, stages.DisableLeaderMigration)
	assert.True(t, !chartOf(t, text).Migrates() && chartOf(t, text).ImageTag() == "v1.26.6", text)
	for _, name := range []string{stages.InstallCCM, stages.DisableLeaderMigration} {
		s, _ := p.Step(name)
		assert.Truef(t, !s.Documents[0].Changes() && s.Documents[1].Changes(), "%s changes other documents than the values file", name)
		commands := commandsOf(s.Stage.After)
		assert.Truef(t, strings.Contains(commands, "--values values.yaml"), "%s does not use the file:\n%s", name, commands)
		files, err := s.Files()
		assert.Truef(t, err == nil && len(files) == 0, "%s makes files of its own: %v, %v", name, files, err)
	}
}

// The stages of a single cluster.yml do not know whether the chart was installed.
func TestTheSwitchComesAfterTheEditOfTheValuesFile(t *testing.T) {
	docs := pair(t, at(release, onAWS+nodes+granted+"services:\n  kube-controller:\n    extra_args: {enable-leader-migration: 'true'}\n"), short)
	p := assert.Value(plan.BuildFor(Format(), docs, transform.Target{}, plan.Choice{Stage: stages.SwitchToExternal}))(t)
	assert.Error(p.Choose(plan.Choice{Stage: stages.SwitchToExternal}))(t, stages.InstallCCM, "the switch does not wait")
	s, _ := p.Step(stages.SwitchToExternal)
	assert.True(t, slices.Contains(s.Stage.AfterManual, stages.InstallCCM), "the file has the values, and not whether helm installed the chart with them")
	alone := stageOf(t, opened(t, at(release, onAWS+nodes), transform.Target{}), stages.SwitchToExternal)
	assert.True(t, slices.Contains(alone.AfterManual, stages.InstallCCM), "without the file no one knows whether the stage was done")
}

func TestAStageIsDoneWhereTheValuesFileHasItsResult(t *testing.T) {
	text, without := ownValues(t)
	for _, c := range []struct {
		name, config, values, stage string
		want                        plan.State
	}{
		{"complete", onAWS, text, stages.InstallCCM, plan.Done},
		{"without the flag", onAWS, without, stages.InstallCCM, plan.Todo},
		{"after the switch", isOut, text, stages.InstallCCM, plan.Done},
		{"it has left", isOut, without, stages.InstallCCM, plan.Done},
		{"it has not left", isOut, text, stages.DisableLeaderMigration, plan.Todo},
		{"it has left the migration", isOut, without, stages.DisableLeaderMigration, plan.Done},
	} {
		s, _ := planOf(t, at(release, c.config+nodes), c.values, transform.Target{}).Step(c.stage)
		assert.Truef(t, s.State == c.want, "%s: %s is %s", c.name, c.stage, s.State)
	}
}

func TestTheUndoOfTheValuesFileNeedsTheUsualForm(t *testing.T) {
	text, done := ownValues(t)
	own := strings.Replace(text, "--v=2", "--v=4", 1)
	for _, c := range []struct {
		name, config, values, stage string
		canonical                   bool
		lost                        bool
	}{
		{"the chart, from the file alone", onAWS, own, stages.InstallCCM, false, true},
		{"the chart", onAWS, own, stages.InstallCCM, true, false},
		{"the end", isOut, unflagged(own), stages.DisableLeaderMigration, false, true},
		{"the end, in the usual form", isOut, unflagged(own), stages.DisableLeaderMigration, true, false},
		{"the end, of our own values", isOut, done, stages.DisableLeaderMigration, false, false},
	} {
		steps, err := plan.Undo(Format(), pair(t, at(release, c.config+nodes), c.values), transform.Target{CanonicalForm: c.canonical}, c.stage, false)
		assert.Truef(t, errors.As(err, new(*transform.Conflict)) == c.lost && (c.lost || err == nil && len(steps) == 1 && steps[0].Documents[1].Changes()), "%s: %v, %v", c.name, steps, err)
	}
}

func TestAnUpgradeMovesTheImageOfTheValuesFile(t *testing.T) {
	_, done := ownValues(t)
	p := planOf(t, at(release, isOut+nodes), done, transform.Target{Version: "v1.27.16-rancher1-1"})
	assert.Equal(t, valuesAfter(t, p, stages.UpgradeCCM), strings.Replace(done, "v1.26.6", "v1.27.2", 1))
	s, _ := p.Step(stages.UpgradeCCM)
	assert.True(t, s.State == plan.Todo, s.State)
}

// Rancher makes the nodes of pools with the labels and taints that RKE always gives.
func TestTheValuesSelectControlPlanesThatTheFileDoesNotList(t *testing.T) {
	p := planOf(t, at(release, onAWS), "nodeSelector:\n  node-role.kubernetes.io/control-plane: \"\"\n", transform.Target{})
	chart := chartOf(t, valuesAfter(t, p, stages.InstallCCM))
	assert.Equal(t, chart.Refuses(nodeClass(node{Role: []string{controlPlaneRole, "etcd"}})), "")
	assert.True(t, chart.Refuses(nodeClass(node{Role: []string{"worker"}})) != "", "it also runs on workers")
}

func TestASelectorOfTheOperatorIsRefusedWhereNoControlPlaneHasIt(t *testing.T) {
	_, err := plan.Build(Format(), pair(t, at(release, onAWS+nodes), "nodeSelector: {disk: fast}\n"), transform.Target{})
	assert.True(t, err != nil && strings.Contains(err.Error(), "values.yaml:1") && strings.Contains(err.Error(), "disk"), err)
}

func TestAManagerAmongTheAddonsLeavesNoPlaceForTheChart(t *testing.T) {
	const addons = "addons: |-\n  apiVersion: apps/v1\n  kind: DaemonSet\n  metadata: {name: ccm, namespace: kube-system}\n  spec:\n    template:\n      spec:\n        containers:\n        - name: ccm\n          image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.26.6\n          args: [--cloud-provider=aws]\n"
	assert.Error(open(pair(t, at(release, onAWS+addons), short), transform.Target{}))(t, "c.yml:4: addons: ")
}

func TestOnlyAValuesFileJoinsACluster(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "no values",
		"# nothing\n":                       "no values",
		"- a\n":                             "must be a mapping",
		"text\n":                            "must be a mapping",
		"controller: {}\n":                  "no value of the chart",
		"kind: HelmChart\napiVersion: v1\n": "an object of kind HelmChart",
		at(release, onAWS):                  "the configuration of a cluster",
		"args: []\n":                        "",
		"image:\n":                          "",
		"kind: x\nimage:\n":                 "",
	} {
		docs, err := withValues(transform.Only(parse(t, at(release, onAWS))), valuesDoc(t, text))
		assert.Truef(t, (want != "" || err == nil && len(docs) == 2) && (want == "" || err != nil && strings.Contains(err.Error(), want)), "%q: %v", text, err)
	}
}

func TestRulesFindWhatIsWrongInTheValuesFile(t *testing.T) {
	text, _ := ownValues(t)
	for _, c := range []struct {
		rule, config, values string
		line                 int // 0 for no finding
	}{
		{"ccm-flag-missing", onAWS, strings.Replace(text, "enable-leader-migration=true", "enable-leader-migration=false", 1), 3},
		{"ccm-flag-missing", onAWS, text, 0},
		{"ccm-flag-missing", isOut, short, 0},
		{"ccm-args-unsafe", onAWS, strings.Replace(text, "  - --configure-cloud-routes=false\n", "", 1), 3},
		{"ccm-args-unsafe", onAWS, text, 0},
		{"ccm-minor-skew", onAWS, strings.Replace(text, "v1.26.6", "v1.25.14", 1), 2},
		{"ccm-minor-skew", onAWS, text, 0},
		{"ccm-unschedulable", onAWS, short, 1},
		{"ccm-unschedulable", onAWS, text, 0},
		{"chart-unpinned", onAWS, short, 1},
		{"chart-unpinned", onAWS, text, 0},
		{"ccm-not-in-file", isOut, text, 0},
	} {
		cluster := assert.Value(lint(pair(t, at(release, c.config+nodes), c.values), transform.Target{}))(t)
		line, file := 0, "values.yaml"
		for _, f := range cluster.Findings("") {
			if f.Rule == c.rule {
				line, file = f.Line, f.File
			}
		}
		assert.Truef(t, line == c.line && file == "values.yaml", "%s is at %s:%d, not at line %d, of\n%s", c.rule, file, line, c.line, c.values)
	}
}

// The stage that adds the flag comes after the one that enables leader migration.
func TestAnEarlierStageDoesNotWaitForTheFlagOfTheValuesFile(t *testing.T) {
	p := planOf(t, at(release, onAWS+nodes), short, transform.Target{})
	for _, s := range p.Steps {
		assert.Truef(t, s.State != plan.Blocked, "%s is blocked: %v", s.Stage.Name, s.Findings)
	}
}

func TestTheMountedConfigurationsComeWithTheValuesFile(t *testing.T) {
	p := planOf(t, at(release, onAWS+"  awsCloudProvider: {global: {zone: a}}\n"), short, transform.Target{LeaderMigrationConfig: transform.ConfigGenerate})
	s, _ := p.Step(stages.InstallCCM)
	files, err := s.Files()
	assert.Truef(t, err == nil && len(files) == 2 && files[0].Name == cloudConfigFile && files[1].Name == configMapFile, "%v, %v", files, err)
	commands := commandsOf(s.Stage.Before)
	assert.True(t, strings.Contains(commands, cloudConfigFile) && strings.Contains(commands, configMapFile), commands)
	names := map[string]bool{} // a folder has each once
	for _, s := range p.Steps {
		files, err := s.Files()
		for _, f := range files {
			assert.Truef(t, err == nil && !names[f.Name], "%s has %s again, %v", s.Stage.Name, f.Name, err)
			names[f.Name] = true
		}
	}
	text := valuesAfter(t, p, stages.InstallCCM)
	assert.True(t, chartOf(t, text).ConfigMounted() && chartOf(t, text).OwnConfig(), text)
	text = valuesAfter(t, p, stages.DisableLeaderMigration)
	assert.True(t, !chartOf(t, text).OwnConfig() && !strings.Contains(text, ccm.MigrationConfigMap), text)
}

func TestTheValuesFileReachesItsReleaseByHelm(t *testing.T) {
	by := deliver(valuesDoc(t, short), "x")
	assert.True(t, by.Command == "" && strings.Contains(by.How, "Helm"), by)
}

// In a broken cluster the switch comes before the chart, and the chart is put right after it.
func TestTheSwitchOfABrokenClusterDoesNotWaitForTheValuesFile(t *testing.T) {
	for _, version := range []string{"v1.27.16-rancher1-1", "v1.28.15-rancher1-1"} {
		p := planOf(t, at(version, onAWS+nodes), "args: [--v=2, --cloud-provider=aws, --enable-leader-migration=true]\n", transform.Target{})
		for _, name := range []string{stages.SwitchToExternal, stages.InstallCCM} {
			s, _ := p.Step(name)
			assert.Truef(t, s.State == plan.Todo, "%s: %s is %s: %v", version, name, s.State, s.Findings)
		}
		text := valuesAfter(t, p, stages.InstallCCM)
		assert.True(t, !chartOf(t, text).Migrates() && !ccm.RoutesUnsafe(chartOf(t, text).Args()), text)
	}
}

// A live cluster has no place for the file: helm gets copies of it, and it stays as it is.
func TestALiveClusterGetsCopiesOfTheValuesFile(t *testing.T) {
	const own = "# mine\nargs: [--v=4, --cloud-provider=aws]\nimage: {repository: registry.example.com/ccm}\n"
	for _, c := range []struct {
		name, stage, file string
		config            string
		target            transform.Target
		tag               string
		flag              bool
	}{
		{"the migration", stages.InstallCCM, valuesFile, onAWS, transform.Target{}, "v1.26.6", true},
		{"its end", stages.DisableLeaderMigration, finalValuesFile, onAWS, transform.Target{}, "v1.26.6", false},
		{"its end, with an upgrade", stages.DisableLeaderMigration, finalValuesFile, onAWS, transform.Target{Version: "v1.27.16-rancher1-1"}, "v1.27.2", false},
		{"its end, where leader migration stays", stages.DisableLeaderMigration, finalValuesFile, onAWS, transform.Target{Version: "v1.27.16-rancher1-1", KeepLeaderMigration: true}, "v1.27.2", true},
		{"an upgrade", stages.UpgradeCCM, "aws-ccm-values-v1.27.yaml", isOut, transform.Target{Version: "v1.27.16-rancher1-1"}, "v1.27.2", false},
		{"no leader migration", stages.InstallCCM, valuesFile, onAWS, transform.Target{NoLeaderMigration: true}, "v1.26.6", false},
	} {
		c.target.Values = valuesDoc(t, own)
		if c.stage == stages.UpgradeCCM {
			c.target.Accept = []string{"ccm-not-in-file"}
		}
		text := files(t, at(release, c.config+nodes), c.stage, c.target)[c.file]
		chart := chartOf(t, text)
		assert.Truef(t, strings.HasPrefix(text, "# mine\nargs: [--v=4, ") && chart.ImageTag() == c.tag && chart.Migrates() == c.flag && chart.Value("image", "repository") == "registry.example.com/ccm", "%s:\n%s", c.name, text)
		assert.Equal(t, chart.Refuses(opened(t, at(release, c.config+nodes), transform.Target{}).chartNodes()[0]), "", c.name)
		assert.Truef(t, string(c.target.Values.Bytes()) == own, "%s changes the file itself", c.name)
	}
}

func TestTheStagesOfALiveClusterSayThatTheFileIsCopied(t *testing.T) {
	target := transform.Target{Values: valuesDoc(t, short)}
	for _, name := range []string{stages.InstallCCM, stages.DisableLeaderMigration} {
		s := stageOf(t, opened(t, at(release, onAWS+nodes), target), name)
		assert.Truef(t, strings.Contains(s.Why, "helm gets a copy of values.yaml") && s.Edit == nil, "%s: %s", name, s.Why)
		own := stageOf(t, opened(t, at(release, onAWS+nodes), transform.Target{}), name)
		assert.Truef(t, !strings.Contains(own.Why, "copy"), "%s: %s", name, own.Why)
	}
}
