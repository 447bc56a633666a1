// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// Every stage that was applied can be undone, from the document alone, to a
// document that the stage leads to it again; with the usual form to the same one.
func TestUndoLeadsBack(t *testing.T) {
	for name, in := range map[string]string{
		"a static pod":            static(onAWS),
		"one with volumes":        static(onAWS) + "    volumeMounts:\n    - {mountPath: /x, name: x}\n  volumes:\n  - {name: x, emptyDir: {}}\n",
		"a Deployment":            deployed("", onAWS),
		"a cloud manager":         cloud(onAWS),
		"a ClusterConfiguration":  configuration("  extraArgs:\n    cloud-provider: aws\n"),
		"one with kube-apiserver": configuration("  extraArgs:\n    cloud-provider: aws\napiServer:\n  extraArgs:\n    cloud-provider: aws\n"),
		"extraArgs as a list":     configuration("  extraArgs:\n  - name: cloud-provider\n    value: aws\n"),
	} {
		for choice, target := range map[string]transform.Target{"by default": {}, "with a configuration": generated, "with nodeipam": {NodeIPAM: true}} {
			t.Run(name+" "+choice, func(t *testing.T) {
				target.CanonicalForm = true
				p := planned(t, in, target)
				docs := p.Steps[len(p.Steps)-1].After()
				steps := assert.Value(plan.Undo(Format(), docs, target, stages.EnableLeaderMigration, true))(t)
				assert.Equal(t, string(steps[len(steps)-1].After()[0].Bytes()), in)
			})
		}
	}
}

// defaultLease is that of a manager that is not in the file.
const defaultLease = 15 * time.Second

func TestUndoSaysWhatTheFileDoesNotShow(t *testing.T) {
	const mounts = "    volumeMounts:\n    - {mountPath: /etc/leadermigration.conf, name: leader-migration-config, readOnly: true}\n  volumes:\n  - {name: leader-migration-config, hostPath: {path: /etc/leadermigration.conf, type: File}}\n"
	for _, c := range []struct {
		name, in, stage, want string
		target                transform.Target
	}{
		{"the only mount and volume", static(onAWS, "--enable-leader-migration", "--leader-migration-config=/etc/leadermigration.conf") + mounts, stages.EnableLeaderMigration, "it contains nothing else, and was either absent or empty before", generated},
		{"a flag in another place", static("--enable-leader-migration", onAWS), stages.EnableLeaderMigration, "differs from what rke-lm writes, so it existed before", transform.Target{}},
		{"a flag with a value", static(onAWS, "--enable-leader-migration=true"), stages.EnableLeaderMigration, "differs from what rke-lm writes, so it existed before", transform.Target{}},
		{"a later stage", static("--cloud-provider=external"), stages.EnableLeaderMigration, "switch-to-external comes after enable-leader-migration", transform.Target{}},
		{"a release without the in-tree provider", strings.Replace(static("--cloud-provider=external"), "v1.26.15", "v1.27.1", 1), stages.SwitchToExternal, "Kubernetes 1.27 and later have no in-tree provider to roll back to", transform.Target{}},
		{"a release that the switch may have moved", static("--cloud-provider=external"), stages.SwitchToExternal, "the release before the switch was this one or an older one", transform.Target{Version: "v1.26.15", CloudLease: defaultLease}},
		{"a list of controllers that was made", static("--cloud-provider=external", "'--controllers=*,-nodeipam'"), stages.SwitchToExternal, "it contains nothing else, and was absent or * before", transform.Target{NodeIPAM: true, CloudLease: defaultLease}},
		{"an image that the last stage may have moved", cloudOf("v1.27.2", onAWS, "--enable-leader-migration"), stages.DisableLeaderMigration, "the image was this one or that of another release", transform.Target{Version: "v1.27.16", KeepLeaderMigration: true}},
		{"where a cloud manager's flag was", marked(cloud(onAWS)), stages.DisableLeaderMigration, "the flag was at an unknown place among the arguments, and the image may have been a different one", transform.Target{}},
	} {
		assert.Error(undone(t, c.in, c.stage, c.target))(t, c.want, c.name)
	}
}

func TestUndoOfNothing(t *testing.T) {
	for _, c := range []struct{ name, in, stage string }{
		{"a flag that is not there", static(onAWS), stages.EnableLeaderMigration},
		{"a switch that was not made", static(onAWS), stages.SwitchToExternal},
		{"a cloud manager that did not join", cloud(onAWS), stages.InstallCCM},
		{"a cloud manager that did not leave", cloud(onAWS, "--enable-leader-migration"), stages.DisableLeaderMigration},
		{"a stage of another document", cloud(onAWS), stages.SwitchToExternal},
	} {
		assert.Equal(t, len(assert.Value(undone(t, c.in, c.stage, transform.Target{}))(t)), 0, c.name)
	}
}

// A stage's check fails on every result but the right one.
func TestChecksFailOnWrongResults(t *testing.T) {
	flag := "--enable-leader-migration"
	for _, c := range []struct {
		name, stage, in, wrong, want string
		target                       transform.Target
	}{
		{"the flag is missing", stages.EnableLeaderMigration, static(onAWS), static(onAWS), "would not get --enable-leader-migration", transform.Target{}},
		{"another argument goes", stages.EnableLeaderMigration, static(onAWS, "--v=2"), static(onAWS, flag), "other arguments of kube-controller-manager would change", transform.Target{}},
		{"arguments change places", stages.EnableLeaderMigration, static(onAWS, "--v=2"), static("--v=2", onAWS, flag), "other arguments", transform.Target{}},
		{"another field changes", stages.EnableLeaderMigration, static(onAWS), static(onAWS, flag) + "  hostNetwork: true\n", "more than the arguments", transform.Target{}},
		{"the program changes", stages.EnableLeaderMigration, static(onAWS), strings.Replace(static(onAWS, flag), "- kube-", "- /bin/kube-", 1), "more than the arguments", transform.Target{}},
		{"the image changes", stages.EnableLeaderMigration, static(onAWS), strings.Replace(static(onAWS, flag), "v1.26.15", "v1.26.14", 1), "more than the arguments", transform.Target{}},
		{"another volume comes", stages.EnableLeaderMigration, static(onAWS), static(onAWS, flag) + "  volumes:\n  - {name: x, emptyDir: {}}\n", "more than the arguments", transform.Target{}},
		{"an unknown field comes with the volume", stages.EnableLeaderMigration, static(onAWS), static(onAWS, flag) + "  volumes:\n  - {name: leader-migration-config, hostpath: {}}\n", "its schema does not allow", transform.Target{}},
		{"the configuration is not named", stages.EnableLeaderMigration, static(onAWS), static(onAWS, flag), "would not get --leader-migration-config", generated},
		{"the configuration is not mounted", stages.EnableLeaderMigration, static(onAWS), static(onAWS, flag, "--leader-migration-config=/etc/x"), "would not see the file", generated},
		{"the provider stays", stages.SwitchToExternal, static(onAWS), static(onAWS), "would not be external", transform.Target{}},
		{"the flag stays", stages.SwitchToExternal, static(onAWS, flag), static("--cloud-provider=external", flag), "would keep --enable-leader-migration", transform.Target{}},
		{"nodeipam stays", stages.SwitchToExternal, static(onAWS), static("--cloud-provider=external"), "would still run nodeipam", transform.Target{NodeIPAM: true, CloudLease: defaultLease}},
		{"kube-apiserver stays in-tree", stages.SwitchToExternal, configuration("  extraArgs: {cloud-provider: aws}\napiServer: {extraArgs: {cloud-provider: aws}}\n"), configuration("  extraArgs: {cloud-provider: external}\napiServer: {extraArgs: {cloud-provider: aws}}\n"), "an in-tree kube-apiserver again", transform.Target{}},
		{"another argument of kube-apiserver changes", stages.SwitchToExternal, configuration("  extraArgs: {cloud-provider: aws}\napiServer: {extraArgs: {cloud-provider: aws, v: '2'}}\n"), configuration("  extraArgs: {cloud-provider: external}\napiServer: {extraArgs: {cloud-provider: external, v: '3'}}\n"), "more than the arguments", transform.Target{}},
		{"kube-apiserver becomes external too early", stages.EnableLeaderMigration, configuration("  extraArgs: {cloud-provider: aws}\napiServer: {extraArgs: {cloud-provider: aws}}\n"), configuration("  extraArgs: {cloud-provider: aws, enable-leader-migration: 'true'}\napiServer: {extraArgs: {cloud-provider: external}}\n"), "more than the arguments", transform.Target{}},
		{"the list of controllers changes unasked", stages.SwitchToExternal, static(onAWS), static("--cloud-provider=external", "--controllers=-nodeipam"), "other arguments", transform.Target{}},
		{"the cloud manager does not join", stages.InstallCCM, cloud(onAWS), cloud(onAWS), "would not get --enable-leader-migration", transform.Target{}},
		{"the end is written down at the start", stages.InstallCCM, cloud(onAWS), marked(cloud(onAWS, flag)), "more than the arguments", transform.Target{}},
		{"the cloud manager keeps the flag", stages.DisableLeaderMigration, cloud(onAWS, flag), marked(cloud(onAWS, flag)), "would keep --enable-leader-migration", transform.Target{}},
		{"the end is not written down", stages.DisableLeaderMigration, cloud(onAWS, flag), cloud(onAWS), "the manifest would not record that the migration is complete", transform.Target{}},
		{"its image moves unasked", stages.DisableLeaderMigration, cloud(onAWS, flag), marked(cloudOf("v1.26.7", onAWS)), "more than the arguments", transform.Target{}},
	} {
		s, _ := lists.Find(opened(t, c.in, c.target).Stages(), func(s transform.Listed) bool { return s.Name == c.stage })
		assert.ErrorContains(t, s.Stage().Check(opened(t, c.wrong, c.target)), c.want, c.name)
	}
}

// told are the commands that come before an undo, and those after it.
func commands(t *testing.T, text string, target transform.Target, stage string) (before, after string) {
	t.Helper()
	step, _ := planned(t, text, target).Step(stage)
	return commandsOf(step.Stage.UndoBefore), commandsOf(step.Stage.UndoAfter)
}

func commandsOf(actions []action.Action) string {
	return strings.Join(lists.Map(actions, func(a action.Action) string { return a.Command }), "\n")
}

// Without its flag the manager is a second owner, so it leaves the cluster before it loses the flag.
func TestAnUndoneManagerIsTakenOutFirst(t *testing.T) {
	pod := strings.ReplaceAll(static(onAWS, noRoutes), "kube-controller-manager", "cloud-controller-manager")
	for in, want := range map[string]string{
		cloud(onAWS): "kubectl -n kube-system delete --ignore-not-found daemonset aws-cloud-controller-manager",
		pod:          "rm /etc/kubernetes/manifests/cloud-controller-manager.yaml",
	} {
		before, after := commands(t, in, transform.Target{}, stages.InstallCCM)
		assert.Truef(t, before == want && strings.Contains(after, "get leases"), "before: %s\nafter: %s", before, after)
		step, _ := planned(t, in, transform.Target{}).Step(stages.InstallCCM)
		assert.True(t, step.Stage.Withdrawn, "the document without the flag would go to the cluster:\n"+in)
	}
}

// The last stage removes the configuration, and the pods do not start without what they mount.
func TestAnUndoPutsTheConfigurationBackFirst(t *testing.T) {
	for _, c := range []struct{ text, stage, first, want string }{
		{static(onAWS), stages.SwitchToExternal, stages.EnableLeaderMigration, "install -m 0644 leadermigration.conf /etc/leadermigration.conf"},
		{deployed("  replicas: 2\n", onAWS), stages.SwitchToExternal, stages.EnableLeaderMigration, "kubectl apply -f "},
		{cloud(onAWS), stages.DisableLeaderMigration, stages.InstallCCM, "kubectl apply -f "},
	} {
		before, _ := commands(t, c.text, generated, c.stage)
		assert.Truef(t, strings.HasPrefix(before, c.want), "before the undo of %s: %q, not %s", c.stage, before, c.want)
		p := planned(t, c.text, generated)
		first, _ := p.Step(c.first)
		undone, _ := p.Step(c.stage)
		files, err := first.Files()
		purpose := undone.Stage.UndoBefore[0].Why
		assert.Truef(t, err == nil && len(files) == 1 && strings.Contains(purpose, "the file of "+c.first), "%s has %d files (%v): %s", c.first, len(files), err, purpose)
	}
}

func TestAnUndoTakesNothingThatHasAComment(t *testing.T) {
	text := strings.Replace(static(onAWS, "--enable-leader-migration"), "--enable-leader-migration", "--enable-leader-migration # ours", 1)
	_, err := undone(t, text, stages.EnableLeaderMigration, transform.Target{})
	assert.ErrorContains(t, err, "it has a comment (line ")
	steps, err := undone(t, text, stages.EnableLeaderMigration, transform.Target{CanonicalForm: true})
	assert.True(t, err == nil && !strings.Contains(string(steps[0].After()[0].Bytes()), "enable-leader") && strings.Contains(string(steps[0].After()[0].Bytes()), "# ours\n"), err)
}
