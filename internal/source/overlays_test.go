// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/kustomize"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const aCluster = "kind: Cluster\nmetadata: {name: harbour}\nspec: {}\n"

// repository writes files below a new working folder that is a repository.
func repository(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	files[".git/HEAD"] = "ref: refs/heads/main\n"
	for name, text := range files {
		write(t, ".", name, text)
	}
}

// said returns what overlays make of a file.
func printed(t *testing.T, overlays *Overlays, file string) string {
	t.Helper()
	doc := assert.Value(yamledit.ParseString(file, aCluster))(t)
	if err := kustomize.Evaluate(doc, overlays.Use(Source{Name: file, Path: file})); err != nil {
		return err.Error()
	}
	return ""
}

func TestOverlaysAreFoundAcrossFolders(t *testing.T) {
	const patch = "patches:\n- patch: |\n    kind: Cluster\n    metadata: {name: harbour}\n    spec: {x: 1}\n"
	for _, c := range []struct {
		name, file, want string
		files            map[string]string
	}{
		{"an overlay of the base's folder", "base/c.yaml", "overlays/eu/kustomization.yaml:3 changes spec.x",
			map[string]string{"base/kustomization.yaml": "resources: [c.yaml]\n", "overlays/eu/kustomization.yaml": "resources: [../../base/]\n" + patch}},
		{"bases, and the other names of the file", "base/c.yaml", "eu/Kustomization:3 changes spec.x",
			map[string]string{"base/kustomization.yml": "resources: [./c.yaml]\n", "eu/Kustomization": "bases: [../base]\n" + patch}},
		{"one that patches its own resource", "base/c.yaml", "kubectl kustomize base |",
			map[string]string{"base/kustomization.yaml": "resources: [c.yaml]\n" + patch}},
		{"a file in a folder below", "base/clusters/c.yaml", "base/kustomization.yaml:3 changes spec.x",
			map[string]string{"base/kustomization.yaml": "resources: [clusters/c.yaml]\n" + patch}},
		{"two layers, of which the second is built", "base/c.yaml", "mid/kustomization.yaml:3 changes spec.x, so this is not what reaches the cluster: a patch can replace a list that is edited here; plan its output: kubectl kustomize top |",
			map[string]string{"base/kustomization.yaml": "resources: [c.yaml]\n", "mid/kustomization.yaml": "resources: [../base]\n" + patch, "top/kustomization.yaml": "resources: [../mid]\n"}},
		{"a component", "base/c.yaml", "parts/arg/kustomization.yaml:4 changes spec.x",
			map[string]string{"base/kustomization.yaml": "resources: [c.yaml]\n", "eu/kustomization.yaml": "resources: [../base]\ncomponents: [../parts/arg]\n", "parts/arg/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" + patch}},
		{"a patch in a file", "base/c.yaml", "eu/p.yaml:3 changes spec.x",
			map[string]string{"base/kustomization.yaml": "resources: [c.yaml]\n", "eu/kustomization.yaml": "resources: [../base]\npatches: [{path: p.yaml}]\n", "eu/p.yaml": "kind: Cluster\nmetadata: {name: harbour}\nspec: {x: 1}\n"}},
		{"the patch itself", "eu/p.yaml", "a patch of eu/kustomization.yaml",
			map[string]string{"eu/kustomization.yaml": "resources: [https://example.com/base]\npatches: [{path: p.yaml}]\n"}},
		{"Fleet's overlay of a target", "fleet/c.yaml", "fleet/overlays/eu/c_patch.yaml:3 changes spec.x",
			map[string]string{"fleet/fleet.yaml": "targetCustomizations: [{name: eu, yaml: {overlays: [eu]}}]\n", "fleet/overlays/eu/c_patch.yaml": "kind: Cluster\nmetadata: {name: harbour}\nspec: {x: 1}\n"}},

		{"no kustomization", "base/c.yaml", "", map[string]string{}},
		{"one that has another file", "base/c.yaml", "", map[string]string{"base/kustomization.yaml": "resources: [d.yaml]\n" + patch}},
		{"an overlay of another base", "base/c.yaml", "", map[string]string{"base/kustomization.yaml": "resources: [c.yaml]\n", "eu/kustomization.yaml": "resources: [../other]\n" + patch, "other/kustomization.yaml": ""}},
		{"an overlay that is hidden", "base/c.yaml", "", map[string]string{"base/kustomization.yaml": "resources: [c.yaml]\n", ".old/kustomization.yaml": "resources: [../base]\n" + patch}},
		{"overlays that list each other", "a/c.yaml", "", map[string]string{"a/kustomization.yaml": "resources: [c.yaml, ../b]\n", "b/kustomization.yaml": "resources: [../a]\n"}},
		{"an overlay of Fleet that no target names", "fleet/c.yaml", "", map[string]string{"fleet/fleet.yaml": "defaultNamespace: x\n", "fleet/overlays/eu/c.yaml": aCluster}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, given := c.files[c.file]; !given {
				c.files[c.file] = aCluster
			}
			repository(t, c.files)
			overlays := NewOverlays(Disk{})
			for range 2 { // the second one is what was kept
				got := printed(t, overlays, c.file)
				assert.Truef(t, (c.want != "" || got == "") && strings.Contains(got, c.want), "got %q, want %q", got, c.want)
			}
		})
	}
}

func TestASearchEndsAtTheRepository(t *testing.T) {
	repository(t, map[string]string{
		"inner/.git/HEAD": "", "inner/base/kustomization.yaml": "resources: [c.yaml]\n", "inner/base/c.yaml": aCluster,
		"eu/kustomization.yaml": "resources: [../inner/base]\npatches: [{patch: '[{op: remove, path: /spec/x}]', target: {kind: Cluster}}]\n",
	})
	assert.Equal(t, printed(t, NewOverlays(Disk{}), "inner/base/c.yaml"), "")
}

func TestStreamsHaveNoOverlays(t *testing.T) {
	use := NewOverlays(Disk{}).Use(FromReader(yamledit.Stdin, strings.NewReader("")))
	assert.True(t, use.Layers == nil && use.PatchOf == nil, use)
}
