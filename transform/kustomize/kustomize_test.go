// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const cluster = "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata:\n  name: harbour\n  namespace: fleet-default\nspec: {kubernetesVersion: v1.26.15+rke2r1, x: $(RELEASE)}\n"

// layer reads a kustomization with the files next to it.
func layer(t *testing.T, text string, others map[string]string) *Kustomization {
	t.Helper()
	k, ok := Parse("eu/kustomization.yaml", "eu", []byte(text))
	assert.Mustf(t, ok, "no kustomization: %s", text)
	k.Resolve(func(path string) (string, []byte, error) {
		if text, found := others[path]; found {
			return "eu/" + path, []byte(text), nil
		}
		return "", nil, os.ErrNotExist
	}, func(path string) bool { _, found := others[path]; return found })
	return k
}

// evaluated returns what is said of a document below some layers.
func evaluated(t *testing.T, text string, layers ...*Kustomization) string {
	t.Helper()
	doc, err := yamledit.ParseString("base/cluster.yaml", text)
	assert.NilError(t, err)
	err = Evaluate(doc, Use{Layers: layers, Built: layers[len(layers)-1:]})
	if err == nil {
		return ""
	}
	var r *transform.Refused
	assert.Truef(t, errors.As(err, &r) && r.Rule == rules.ChangedByOverlay.ID, "%v is no refusal of its rule", err)
	return err.Error()
}

func TestAnOverlayThatChangesTheSpecIsNamed(t *testing.T) {
	const merge = "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: harbour}\nspec:\n  rkeConfig:\n    machineGlobalConfig:\n      kube-controller-manager-arg: [a=b]\n"
	const change = "eu/patch.yaml:7 changes spec.rkeConfig.machineGlobalConfig.kube-controller-manager-arg"
	inline := func(text string) string {
		return "|\n" + strings.ReplaceAll("\n"+strings.TrimSuffix(text, "\n"), "\n", "\n      ")[1:] + "\n"
	}
	for _, c := range []struct {
		name, in, want string
		others         map[string]string
	}{
		{"a merge patch in a file", "patches: [{path: patch.yaml}]\n", change, map[string]string{"patch.yaml": merge}},
		{"an older spelling", "patchesStrategicMerge: [patch.yaml]\n", change, map[string]string{"patch.yaml": merge}},
		{"an older spelling inside", "patchesStrategicMerge:\n  - " + inline(merge), "eu/kustomization.yaml:2 changes spec.rkeConfig", nil},
		{"a merge patch inside", "patches:\n  - patch: " + inline(merge), "eu/kustomization.yaml:2 changes spec.rkeConfig", nil},
		{"the second document of a patch", "patches: [{path: patch.yaml}]\n", "changes spec.rkeConfig", map[string]string{"patch.yaml": "kind: Other\nspec: {}\n---\n" + merge}},
		{"a JSON patch", "patches:\n  - target: {kind: Cluster}\n    patch: " + inline("- op: replace\n  path: /spec/kubernetesVersion\n  value: v1.25.16+rke2r1\n"), "eu/kustomization.yaml:3 changes spec.kubernetesVersion", nil},
		{"a JSON patch as JSON", "patchesJson6902: [{path: p.json, target: {kind: Cluster, name: harbour}}]\n", "eu/p.json:1 changes spec.a/b", map[string]string{"p.json": `[{"op":"remove","path":"/spec/a~1b"}]`}},
		{"a move out of the spec", "patches:\n  - target: {kind: Cluster}\n    patch: " + inline("- {op: move, from: /spec/x, path: /metadata/y}\n"), "changes spec.x", nil},
		{"a target by expressions", "patches:\n  - target: {kind: C.*, name: har.*}\n    patch: " + inline("- {op: remove, path: /spec/x}\n"), "changes spec.x", nil},
		{"a target without a kind", "patches:\n  - target: {name: harbour}\n    patch: " + inline("- {op: remove, path: /spec/x}\n"), "changes spec.x", nil},
		{"an expression that is none", "patches:\n  - target: {name: '['}\n    patch: " + inline("- {op: remove, path: /spec/x}\n"), "changes spec.x", nil},
		{"the object as a whole", "patches:\n  - target: {kind: Cluster}\n    patch: " + inline("- {op: replace, path: '', value: {}}\n"), "replaces or deletes it", nil},
		{"the object deleted", "patches: [{path: patch.yaml}]\n", "eu/patch.yaml:4 replaces or deletes it", map[string]string{"patch.yaml": "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: harbour}\n$patch: delete\n"}},
		{"a patch that is not there", "patches: [{path: gone.yaml}]\n", "eu/kustomization.yaml:1 may change it (it cannot be read)", nil},
		{"a patch that is no YAML", "patches: [{path: patch.yaml}]\n", "eu/patch.yaml:1 may change it", map[string]string{"patch.yaml": "a: [\n"}},
		{"a name with the prefix", "namePrefix: eu-\npatches: [{path: patch.yaml}]\n", "changes spec.x", map[string]string{"patch.yaml": "kind: Cluster\nmetadata: {name: eu-harbour}\nspec: {x: 1}\n"}},
		{"a replacement", "replacements:\n  - source: {kind: ConfigMap}\n    targets:\n      - select: {kind: Cluster}\n        fieldPaths: [spec.kubernetesVersion]\n", "eu/kustomization.yaml:5 changes spec.kubernetesVersion", nil},
		{"a replacement in a file", "replacements: [{path: r.yaml}]\n", "eu/r.yaml:3 changes spec.x", map[string]string{"r.yaml": "targets:\n  - select: {kind: Cluster}\n    fieldPaths: [spec.x]\n"}},
		{"a replacement with a key in another case", "replacements: [{source: {kind: ConfigMap}, Targets: [{select: {kind: Cluster}, fieldPaths: [spec.x]}]}]\n", "may change it", nil},
		{"such a replacement in a file", "replacements: [{path: r.yaml}]\n", "may change it", map[string]string{"r.yaml": "targets: [{Select: {kind: Cluster}, fieldPaths: [spec.x]}]\n"}},
		{"an image with a key in another case", "images: [{Name: nginx, newTag: '1'}]\n", "may change it", nil},
		{"a replacement that is not there", "replacements: [{path: r.yaml}]\n", "may change it", nil},
		{"a transformer", "transformers: [t.yaml]\n", "may change it", map[string]string{"t.yaml": "kind: PatchTransformer\n"}},
		{"a transformer of labels in the spec", "transformers: [t.yaml]\n", "changes spec.x", map[string]string{"t.yaml": "apiVersion: builtin\nkind: LabelTransformer\nlabels: {a: b}\nfieldSpecs: [{path: spec/x, create: true}]\n"}},
		{"a plugin with the name of a transformer of kustomize", "transformers: [t.yaml]\n", "may change it", map[string]string{"t.yaml": "apiVersion: example.com/v1\nkind: LabelTransformer\n"}},
		{"a generator", "generators: [g.yaml]\n", "may change it", map[string]string{"g.yaml": "apiVersion: example.com/v1\nkind: Machines\n"}},
		{"a generator that is not there", "generators: [g.yaml]\n", "may change it", nil},
		{"a configuration", "configurations: [c.yaml]\n", "eu/c.yaml:2 changes spec.kubernetesVersion", map[string]string{"c.yaml": "images:\n- {path: spec/kubernetesVersion, kind: Cluster}\n"}},
		{"a configuration of references", "configurations: [c.yaml]\n", "eu/c.yaml:4 changes spec.rkeConfig.x", map[string]string{"c.yaml": "nameReference:\n- kind: Secret\n  fieldSpecs:\n  - {path: spec/rkeConfig/x}\n"}},
		{"a configuration that is not there", "configurations: [c.yaml]\n", "may change it", nil},
		{"labels in the spec", "labels: [{pairs: {a: b}, fields: [{path: spec/x, kind: Cluster}]}]\n", "eu/kustomization.yaml:1 changes spec.x", nil},
		{"a variable", "vars: [{name: OTHER}, {name: RELEASE}]\nnamePrefix: eu-\n", "eu/kustomization.yaml:1 changes $(RELEASE)", nil},
		{"a transformer that is not there", "transformers: [t.yaml]\n", "may change it", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := evaluated(t, cluster, layer(t, c.in, c.others))
			assert.Truef(t, strings.HasPrefix(got, "base/cluster.yaml:1: ") && strings.Contains(got, c.want) && strings.Contains(got, "kubectl kustomize eu | rke-lm plan -"), "got %q, want %q", got, c.want)
		})
	}
}

func TestAnOverlayThatLeavesTheSpecAloneDoesNotBlock(t *testing.T) {
	for _, c := range []struct {
		name, in string
		others   map[string]string
	}{
		{"resources alone", "resources: [../base]\n", nil},
		{"names, labels and annotations", "resources: [../base]\nnamePrefix: eu-\nnamespace: x\ncommonLabels: {Name: b}\ncommonAnnotations: {a: b}\nlabels: [{pairs: {a: b}}]\n", nil},
		{"a patch of the metadata", "patches:\n  - target: {kind: Cluster}\n    patch: |\n      - {op: add, path: /metadata/labels/a, value: b}\n", nil},
		{"a merge patch of the metadata", "patches: [{path: p.yaml}]\n", map[string]string{"p.yaml": "kind: Cluster\nmetadata: {name: harbour, labels: {a: b}}\n"}},
		{"a patch of another kind", "patches: [{path: p.yaml}]\n", map[string]string{"p.yaml": "kind: Deployment\nmetadata: {name: harbour}\nspec: {replicas: 2}\n"}},
		{"a patch of another cluster", "patches: [{path: p.yaml}]\n", map[string]string{"p.yaml": "kind: Cluster\nmetadata: {name: orchard}\nspec: {x: 1}\n"}},
		{"a name that is one's beginning", "patches:\n  - target: {kind: Cluster, name: harb}\n    patch: |\n      - {op: remove, path: /spec/x}\n", nil},
		{"another namespace", "patches: [{path: p.yaml}]\n", map[string]string{"p.yaml": "kind: Cluster\nmetadata: {name: harbour, namespace: other}\nspec: {x: 1}\n"}},
		{"a test of the spec", "patches:\n  - target: {kind: Cluster}\n    patch: |\n      - {op: test, path: /spec/x, value: 1}\n", nil},
		{"a replacement of the metadata", "replacements: [{targets: [{select: {kind: Cluster}, fieldPaths: [metadata.name]}]}]\n", nil},
		{"a transformer of labels", "transformers: [t.yaml]\n", map[string]string{"t.yaml": "apiVersion: builtin\nkind: LabelTransformer\nlabels: {a: b}\nfieldSpecs: [{path: metadata/labels}]\n"}},
		{"charts and what kustomize generates", "helmCharts: [{name: metrics-server, valuesInline: {replicas: 2}}]\ngenerators: [g.yaml]\nconfigurations: [c.yaml]\n", map[string]string{"g.yaml": "apiVersion: builtin\nkind: ConfigMapGenerator\n", "c.yaml": "namePrefix: [{path: metadata/name}]\nimages: [{path: spec/image, kind: Database}]\n"}},
		{"an image of others", "images: [{name: nginx, newTag: '1'}]\nreplicas: [{name: web, count: 2}]\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, evaluated(t, cluster, layer(t, c.in, c.others)), "")
		})
	}
}

func TestImagesAndReplicasOfWorkloadsCount(t *testing.T) {
	const workload = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: kcm}\nspec:\n  template:\n    spec:\n      containers: [{image: 'registry.example.com:5000/kube-controller-manager:v1.26.15@sha256:0f'}]\n"
	for in, want := range map[string]string{
		"images: [{name: 'registry.example.com:5000/kube-controller-manager', newTag: v1.27.1}]\n": "changes the image",
		"replicas: [{name: kcm, count: 3}]\n":                                                      "changes spec.replicas",
		"replicas: [{name: other, count: 3}]\n":                                                    "",
	} {
		got := evaluated(t, workload, layer(t, in, nil))
		assert.Truef(t, (want != "" || got == "") && strings.Contains(got, want), "%s: got %q, want %q", in, got, want)
	}
}

// A name that one layer gives is known to those after it.
func TestLayersBuildOnEachOther(t *testing.T) {
	first := layer(t, "resources: [../base]\nnameSuffix: -eu\n", nil)
	second := layer(t, "patches:\n  - target: {name: harbour-eu}\n    patch: |\n      - {op: remove, path: /spec/x}\n", nil)
	assert.Contains(t, evaluated(t, cluster, first, second), "changes spec.x")
}

func TestAPatchIsNoCluster(t *testing.T) {
	doc := assert.Value(yamledit.ParseString("eu/patch.yaml", cluster))(t)
	k := layer(t, "patches: [{path: patch.yaml}]\n", nil)
	assert.ErrorContains(t, Evaluate(doc, Use{PatchOf: k}), "a patch of eu/kustomization.yaml")
}

func TestOtherFilesAreNoKustomizations(t *testing.T) {
	for _, text := range []string{
		"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec: {path: ./x}\n", "- a\n", "", "a: [\n",
	} {
		_, ok := Parse("k.yaml", ".", []byte(text))
		assert.Truef(t, !ok, "taken for a kustomization: %q", text)
	}
}

func TestOverlaysOfFleet(t *testing.T) {
	got := FleetOverlays([]byte("yaml: {overlays: [all]}\ntargetCustomizations:\n- name: eu\n  yaml: {overlays: [eu, all]}\n"), "clusters/a.yaml")
	want := "overlays/all/clusters/a.yaml overlays/all/clusters/a_patch.yaml overlays/eu/clusters/a.yaml overlays/eu/clusters/a_patch.yaml"
	assert.Equal(t, strings.Join(got, " "), want, got)
	assert.True(t, FleetOverlays([]byte("a: ["), "a.yaml") == nil, "read from what is no YAML")
	const patch = "kind: Cluster\nmetadata: {name: harbour}\nspec: {x: 1}\n"
	for file, want := range map[string]string{"overlays/eu/a.yaml": "overlays/eu/a.yaml:1 replaces or deletes it", "overlays/eu/a_patch.yaml": "overlays/eu/a_patch.yaml:3 changes spec.x"} {
		got := evaluated(t, cluster, FleetOverlay(file, []byte(patch)))
		assert.Truef(t, strings.Contains(got, want) && strings.Contains(got, "each Fleet target"), "%s: %s", file, got)
	}
	assert.Equal(t, evaluated(t, cluster, FleetOverlay("overlays/eu/a_patch.yaml", []byte("kind: Cluster\nmetadata: {name: harbour, labels: {a: b}}\n"))), "")
}

// Each overlay with a suffix may double the names that patches call an object by: there are many overlays of one base.
func TestTheNamesOfAnObjectAreBounded(t *testing.T) {
	var layers []*Kustomization
	for i := range 64 {
		layers = append(layers, layer(t, fmt.Sprintf("nameSuffix: -s%d\n", i), nil))
	}
	o := object{names: []string{"harbour"}}
	for _, k := range layers {
		if o = k.rename(o); len(o.names) > 2*mostNames {
			t.Fatalf("%d names", len(o.names))
		}
	}
	patch := layer(t, "patches: [{target: {name: harbour-s63}, path: p.yaml}]\n", map[string]string{"p.yaml": "- {op: remove, path: /spec/rkeConfig}\n"})
	assert.Contains(t, evaluated(t, cluster, append(layers, patch)...), "p.yaml", "a patch that may mean the cluster is passed over")
	got := evaluated(t, cluster, append(layers[:2:2], patch)...)
	assert.Truef(t, !strings.Contains(got, "p.yaml"), "a patch of another object: %q", got)
}

// Documents with generateName alone are objects of their own, whatever their names begin with.
func TestADocumentWithoutANameIsNoOtherCluster(t *testing.T) {
	k := layer(t, "namePrefix: p-\n", nil)
	use := Use{Layers: []*Kustomization{k}, Built: []*Kustomization{k}, Roots: []string{"base", "eu"}}
	assert.True(t, use.Known(transform.Identity{}, false) == nil, use.Known(transform.Identity{}, false))
	assert.DeepEqual(t, use.Known(transform.Identity{Name: "a"}, false), []Known{{transform.Identity{Name: "p-a"}, ""}, {transform.Identity{Name: "p-a"}, "base"}, {transform.Identity{Name: "p-a"}, "eu"}})
}
