// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/controller-manager/pkg/leadermigration"
	migrationconfig "k8s.io/controller-manager/pkg/leadermigration/config"

	helmchart "helm.sh/helm/v3/pkg/chart"
)

// rendering is one file of values, and what it has to come to.
type rendering struct {
	name   string
	minor  string // of the cluster
	values string
	nodes  []Node

	args       []string // in their order; nil for one's own, of which some are needed
	needed     []string
	image      string
	configMaps map[string]corev1.ConfigMap // that come with the chart, by name
	secrets    []string                    // that come with it or were made before
}

// tags are the image tags that kOps tests with each minor, and from 1.28 on the newest
// patch of each minor.
var tags = map[string]string{
	"v1.22": "v1.22.8", "v1.23": "v1.23.17", "v1.24": "v1.24.15",
	"v1.25": "v1.25.3", "v1.26": "v1.26.6", "v1.27": "v1.27.2",
	"v1.28": "v1.28.11", "v1.29": "v1.29.10", "v1.30": "v1.30.10",
	"v1.31": "v1.31.9", "v1.32": "v1.32.8", "v1.33": "v1.33.4",
	"v1.34": "v1.34.3", "v1.35": "v1.35.2", "v1.36": "v1.36.1",
}

// lastOnRKE1 is the last minor of RKE.
const lastOnRKE1 = "v1.32"

// pastInTree reports whether a cluster of a minor has no in-tree provider any more.
func pastInTree(minor string) bool { return minor > "v1.26" }

const repository = "registry.k8s.io/provider-aws/cloud-controller-manager"

// check renders values and lists what is wrong with the result.
func (g rendering) check(t *testing.T, c *helmchart.Chart) []string {
	t.Helper()
	r, err := Render(c, g.values, g.minor)
	if err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	complain := func(format string, a ...any) { wrong = append(wrong, fmt.Sprintf(format, a...)) }
	if got := r.Container().Args; g.args != nil && !slices.Equal(got, g.args) {
		complain("arguments (-want +got):\n%s", cmp.Diff(g.args, got))
	}
	for _, a := range g.needed {
		if !slices.Contains(r.Container().Args, a) {
			complain("there is no argument %s", a)
		}
	}
	if got := r.Container().Image; got != g.image {
		complain("the image is %s, not %s", got, g.image)
	}
	if !r.DaemonSet.Spec.Template.Spec.HostNetwork {
		complain("the pods have a network of their own, where a hop limit of 1 keeps the metadata away")
	}
	for _, missing := range r.Lacks() {
		complain("the service account may not %s", missing)
	}
	wrong = append(wrong, misplaced(t, r, g.nodes)...)
	return append(wrong, g.files(t, r)...)
}

// misplaced lists the nodes that have no pod and need one, or the reverse.
func misplaced(t *testing.T, r Rendered, nodes []Node) []string {
	t.Helper()
	var wrong []string
	for _, n := range nodes {
		why, err := r.Refuses(n)
		switch {
		case err != nil:
			t.Fatal(err)
		case n.ControlPlane && why != "":
			wrong = append(wrong, fmt.Sprintf("no pod runs on the node %q: %s", n.Name, why))
		case !n.ControlPlane && why == "":
			wrong = append(wrong, fmt.Sprintf("a pod runs on the node %q, which is no control plane", n.Name))
		}
	}
	return wrong
}

// files lists what is wrong with the files that arguments name.
func (g rendering) files(t *testing.T, r Rendered) []string {
	t.Helper()
	var wrong []string
	for _, a := range r.Args() {
		if a.Name != "cloud-config" && a.Name != "leader-migration-config" {
			continue
		}
		volume, key, mounted := r.Mounted(a.Value)
		switch {
		case !mounted:
			wrong = append(wrong, a.Value+" is not mounted")
		case volume.Secret != nil && !slices.Contains(g.secrets, volume.Secret.SecretName):
			wrong = append(wrong, "nothing makes the Secret "+volume.Secret.SecretName)
		case volume.ConfigMap != nil:
			text, there := g.configMaps[volume.ConfigMap.Name].Data[key]
			if !there {
				wrong = append(wrong, "no ConfigMap "+volume.ConfigMap.Name+" holds "+key)
				continue
			}
			wrong = append(wrong, unmigrated(t, text, "cloud-controller-manager", namesOf(r.Container().Image))...)
		case volume.Secret == nil:
			wrong = append(wrong, a.Value+" is mounted from something else")
		}
	}
	return wrong
}

// unmigrated reads a configuration as a manager does, strictly, and lists the
// controllers that the manager would not run under the migration lease.
func unmigrated(t *testing.T, text, component string, names []string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "leadermigration.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := migrationconfig.ReadLeaderMigrationConfiguration(file)
	if err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	for _, e := range migrationconfig.ValidateLeaderMigrationConfiguration(config) {
		wrong = append(wrong, e.Error())
	}
	filter := leadermigration.NewLeaderMigrator(config, component).FilterFunc
	for _, name := range names {
		if filter(name) != leadermigration.ControllerMigrated {
			wrong = append(wrong, component+" does not run "+name+" under the migration lease")
		}
	}
	if filter("cloud-node") != leadermigration.ControllerNonMigrated || filter("cloud-node-controller") != leadermigration.ControllerNonMigrated {
		wrong = append(wrong, "cloud-node would be migrated")
	}
	return wrong
}
