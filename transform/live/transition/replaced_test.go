// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
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
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

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
