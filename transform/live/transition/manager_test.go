// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke1"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const joining = "image: {tag: v1.26.6}\nargs: [--v=2, --enable-leader-migration=true]\n"

func running(tag string, args ...string) []observed.DaemonSet {
	return []observed.DaemonSet{{Image: "registry.example.org:5000/ccm:" + tag, Args: append([]string{"/bin/manager"}, args...)}}
}

func TestAChartIsInstalledWhenItRunsWithItsValues(t *testing.T) {
	for _, c := range []struct {
		name   string
		values string
		sets   []observed.DaemonSet
		want   bool
	}{
		{"nothing runs", joining, nil, false},
		{"as the values say", joining, running("v1.26.6", "--v=2", "--enable-leader-migration=true"), true},
		{"with more arguments", joining, running("v1.26.6", "--v=2", "--enable-leader-migration=true", "--own"), true},
		{"another image", joining, running("v1.26.5", "--v=2", "--enable-leader-migration=true"), false},
		{"without the flag", joining, running("v1.26.6", "--v=2"), false},
		{"another value", joining, running("v1.26.6", "--v=3", "--enable-leader-migration=true"), false},
		{"a flag that is not wanted", "image: {tag: v1.26.6}\nargs: [--v=2]\n", running("v1.26.6", "--v=2", "--enable-leader-migration=true"), false},
		{"values that are none", "", running("v1.26.6"), false},
	} {
		assert.Equal(t, installed(c.values, c.sets), c.want, c.name)
	}
}

func TestAManagerHasLeftTheMigrationWithoutTheFlag(t *testing.T) {
	const final = "image: {tag: v1.27.1}\nargs: [--v=2]\n"
	for _, c := range []struct {
		name   string
		values string
		sets   []observed.DaemonSet
		want   bool
	}{
		{"nothing runs", final, nil, false},
		{"as the values say", final, running("v1.27.1", "--v=2"), true},
		{"a later patch and other arguments are the user's own", final, running("v1.27.9", "--v=4"), true},
		{"another minor", final, running("v1.26.6", "--v=2"), false},
		{"the flag", final, running("v1.27.1", "--v=2", "--enable-leader-migration=true"), false},
		{"the flag by its name alone", final, running("v1.27.1", "--v=2", "--enable-leader-migration"), false},
		{"the flag turned off", final, running("v1.27.1", "--v=2", "--enable-leader-migration=false"), true},
		{"the flag is kept", joining, running("v1.26.6", "--v=2", "--enable-leader-migration=true"), true},
	} {
		assert.Equal(t, finished(c.values, c.sets), c.want, c.name)
	}
}

const (
	externalRKE2 = "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: heron, namespace: fleet-default}\nspec:\n  kubernetesVersion: v1.26.15+rke2r1\n" +
		"  rkeConfig:\n    machineGlobalConfig: {cloud-provider-name: external, disable-cloud-controller: true}\n    machinePools:\n    - {name: a, controlPlaneRole: true, etcdRole: true, quantity: 3}\n"
	externalRKE1 = "cluster_name: plover\nkubernetes_version: v1.26.15-rancher1-1\nnodes:\n- {address: 10.0.4.11, role: [controlplane, etcd, worker]}\ncloud_provider: {name: external-aws}\nservices: {}\n"
)

func planned(t *testing.T, d transform.Format, text string) *plan.Plan {
	t.Helper()
	doc := assert.Value(yamledit.ParseString("c.yaml", text))(t)
	return assert.Value(plan.Build(d, transform.Only(doc), transform.Target{EndState: transform.EndStateExternal}))(t)
}

func TestAMigrationDoesNothingAboutAManagerThatIsNotInTheFile(t *testing.T) {
	for _, c := range []struct {
		format transform.Format
		text   string
	}{{rke2.Format(), externalRKE2}, {rke1.Format(), externalRKE1}} {
		p := planned(t, c.format, c.text)
		w := Planner{Format: c.format}
		for _, seen := range []*observed.Observation{{}, {DaemonSets: running("v1.26.6", "--v=4")}} {
			l, err := w.Plan(p, stages.InstallCCM, false, seen)
			assert.Truef(t, err == nil && l.Empty(), "%s: %+v, %v", c.format.Name, l, err)
		}
	}
}

// No stage that is undone gives such a manager the flag, and with the in-tree
// provider it would be a second owner.
func TestNoRollbackBeginsWhereTheManagerIsNotInTheFile(t *testing.T) {
	p := planned(t, rke2.Format(), externalRKE2)
	w := Planner{Format: rke2.Format(), Target: transform.Target{CanonicalForm: true}}
	names := assert.Value(RollbackOrder(p, ""))(t)
	var conflict *transform.Conflict
	err := w.CheckRollback(p, names, &observed.Observation{DaemonSets: running("v1.26.6", "--v=4")})
	assert.True(t, errors.As(err, &conflict), err)
	err = w.CheckRollback(p, []string{stages.VerifyProviderIDs, stages.DisableLeaderMigration}, &observed.Observation{})
	assert.Truef(t, err == nil, "the switch stays: %v", err)
}

// charted is a cluster of RKE with more settings.
func charted(minor, provider string) string {
	return "cluster_name: plover\nkubernetes_version: " + minor + ".15-rancher1-1\nnodes:\n- {address: 10.0.4.11, role: [controlplane, etcd, worker]}\nservices: {}\ncloud_provider:\n" + provider
}

const (
	plainProvider = "  name: aws\n  useInstanceMetadataHostname: true\n"
	setProvider   = plainProvider + "  awsCloudProvider:\n    global: {zone: eu-west-1a}\n"
)

// upgradesOf returns a plan's upgrades with the values that it gives them.
func upgradesOf(t *testing.T, text string, target transform.Target) (Planner, []Upgrade) {
	t.Helper()
	doc := assert.Value(yamledit.ParseString("c.yaml", text))(t)
	r := Planner{Format: rke1.Format(), Target: target}
	p := assert.Value(plan.Build(r.Format, transform.Only(doc), target))(t)
	names := lists.Map(p.Steps, func(s plan.Step) string { return s.Stage.Name })
	var all []Upgrade
	for _, back := range []bool{false, true} {
		seen := &observed.Observation{}
		if back { // the chart runs and is to be rolled back
			seen.DaemonSets = running("v1.26.6", "--v=2")
		}
		all = append(all, assert.Value(r.Upgrades(p, names, back, seen))(t)...)
	}
	return r, all
}

func document(t *testing.T, text string) *yamledit.Document {
	t.Helper()
	return assert.Value(yamledit.ParseString("release", text))(t)
}

// A release that any stage has installed is upgraded by any other one, also after the cluster has moved
// to the next minor: a run that was killed anywhere is continued, and rolled back.
func TestAReleaseThatAStageHasInstalledIsNeverRefused(t *testing.T) {
	file := document(t, "# Mine.\nargs: [--v=4, --cloud-provider=aws]\npodAnnotations: {team: platform}\nresources: {limits: {memory: 64Mi}}\n")
	for name, target := range map[string]transform.Target{
		"no choice":                      {},
		"a values file":                  {Values: file},
		"a configuration":                {LeaderMigrationConfig: transform.ConfigGenerate},
		"a values file, a configuration": {Values: file, LeaderMigrationConfig: transform.ConfigGenerate},
		"the flag stays":                 {KeepLeaderMigration: true},
		"a mirror":                       {ImageRepository: "mirror.example/ccm", ImageTag: "mine"},
		"an image of another minor":      {LeaderMigrationConfig: transform.ConfigGenerate, ImageTag: "v1.28.1"},
		"without leader migration":       {NoLeaderMigration: true},
	} {
		for _, provider := range []string{plainProvider, setProvider} {
			t.Run(name, func(t *testing.T) {
				installed := map[string]bool{}
				var runs []func()
				for _, minor := range []string{"v1.25", "v1.26"} {
					r, upgrades := upgradesOf(t, charted(minor, provider), target)
					for _, u := range upgrades {
						installed[u.Transition.Files[u.Action.Values]] = true
						runs = append(runs, func() {
							for has := range installed {
								keys, err := r.Replaced(u, document(t, has))
								assert.Truef(t, err == nil && len(keys) == 0, "%s, %s: %v %v\n%s\nis replaced by\n%s", minor, u.Transition.Step.Stage.Name, keys, err, has, u.Transition.Files[u.Action.Values])
							}
						})
					}
				}
				assert.Truef(t, len(installed) >= 2, "there are only %v", slices.Collect(maps.Keys(installed)))
				for _, run := range runs {
					run()
				}
			})
		}
	}
}

// The migration requires routes off, the selector of RKE and the image's minor; the rest is the
// operator's own, also what a file would keep.
func TestOnlyWhatTheMigrationDoesNotRequireIsRefused(t *testing.T) {
	r, upgrades := upgradesOf(t, charted("v1.26", plainProvider), transform.Target{})
	i := slices.IndexFunc(upgrades, func(u Upgrade) bool { return u.Transition.Step.Stage.Name == stages.InstallCCM })
	for _, c := range []struct{ name, has, want string }{
		{"the values of the chart", "null", ""},
		{"values that the chart does not run with", "args: [--v=2, --cloud-provider=aws, --configure-cloud-routes=true]\nhostNetworking: false\nnodeSelector: {node-role.kubernetes.io/control-plane: ''}\nimage: {tag: v1.24.1}\n", "hostNetworking"},
		{"more arguments", "args: [--v=2, --cloud-provider=aws, --cluster-name=a]\n", "args --cluster-name"},
		{"a mirror and its Secret", "image: {repository: mirror.example/ccm, tag: v1.26.6}\nimagePullSecrets: [{name: mirror}]\n", "image.repository, imagePullSecrets"},
		{"a selector that no file can have", "nodeSelector: {disk: fast}\nresources: {limits: {cpu: 1}}\n", "nodeSelector.disk, resources.limits.cpu"},
		{"values of another chart", "replicas: 3\n", "replicas"},
	} {
		keys, err := r.Replaced(upgrades[i], document(t, c.has))
		got := strings.Join(keys, ", ")
		assert.Truef(t, err == nil && got == c.want, "%s: %q, %v", c.name, got, err)
	}
}
