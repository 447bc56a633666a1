// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const engine = "cluster_name: NAME\nkubernetes_version: v1.26.15-rancher1-1\ncloud_provider: {name: aws}\n"

// foundWith is what a run with a values file makes of files in a folder: the documents of each
// cluster by their files, the files that end together, and the errors.
func foundWith(t *testing.T, files map[string]string, values string, paths ...string) (docs, ends, errs []string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		assert.NilError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		assert.NilError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	f := everyFormat()
	f.Overlays, f.Values, f.Only = source.NewOverlays(source.Disk{}), values, "ccm-values"
	for _, r := range f.Files(t.Context(), paths, strings.NewReader(files["-"])).Results {
		if r.Err != nil {
			errs = append(errs, r.Err.Error())
		} else if r.Docs != nil {
			docs = append(docs, strings.Join(lists.Map(r.Docs, (*yamledit.Document).File), " "))
		}
		if len(r.Ended) > 0 {
			ends = append(ends, strings.Join(lists.Map(r.Ended, func(f source.Text) string { return f.Name }), " "))
		}
	}
	return docs, ends, errs
}

func named(name string) string { return strings.ReplaceAll(engine, "NAME", name) }

func TestAValuesFileJoinsTheOnlyClusterOfARun(t *testing.T) {
	files := map[string]string{
		"a/cluster.yml": named("heron"), "a/other.yaml": "x: 1\n", "helm/values.yaml": "args: []\n", "-": named("stream"),
		"b/cluster.yml": named("plover"), "pods/a.yaml": podOfManager, "two.yaml": "args: []\n---\nimage: {}\n", "marks.yaml": "---\nargs: []\n---\n",
		"object.yaml": "apiVersion: v1\nkind: Role\nmetadata: {name: a}\n", "broken.yaml": "args: [\n", "binary.yaml": "args: \x00\x01\n", "rke2.json": provisioned("fen"),
	}
	for _, c := range []struct {
		name, values string
		paths        []string
		docs, ends   string
		err          string
	}{
		{"in another folder", "helm/values.yaml", []string{"a"}, "a/cluster.yml helm/values.yaml", "a/cluster.yml helm/values.yaml", ""},
		{"in a folder that is searched", "./helm/values.yaml", []string{"a", "helm"}, "a/cluster.yml ./helm/values.yaml", "a/cluster.yml ./helm/values.yaml", ""},
		{"named as well", "helm/values.yaml", []string{"helm/values.yaml", "a/cluster.yml"}, "a/cluster.yml helm/values.yaml", "a/cluster.yml helm/values.yaml", ""},
		{"with a stream", "helm/values.yaml", []string{"-"}, "<stdin> helm/values.yaml", "<stdin> helm/values.yaml", ""},
		{"between empty documents", "marks.yaml", []string{"a"}, "a/cluster.yml marks.yaml", "a/cluster.yml marks.yaml", ""},
		{"two clusters", "helm/values.yaml", []string{"a", "b"}, "", "a/cluster.yml b/cluster.yml helm/values.yaml", "b/cluster.yml:1: a second cluster, next to that of a/cluster.yml:1"},
		{"two formats", "helm/values.yaml", []string{"a", "pods"}, "", "a/cluster.yml pods/a.yaml helm/values.yaml", "pods/a.yaml:1: a second cluster"},
		{"two documents", "two.yaml", []string{"a"}, "", "a/cluster.yml two.yaml", "two.yaml:3: a second document"},
		{"an object", "object.yaml", []string{"a"}, "", "a/cluster.yml object.yaml", "object.yaml:1: this is an object of kind Role"},
		{"no YAML", "broken.yaml", []string{"a"}, "", "a/cluster.yml broken.yaml", "broken.yaml:2: "},
		{"no text", "binary.yaml", []string{"a"}, "", "a/cluster.yml binary.yaml", "binary.yaml:1: "},
		{"a cluster of RKE2", "helm/values.yaml", []string{"rke2.json"}, "", "rke2.json helm/values.yaml", "rke2.json:1: only a cluster of RKE takes the values file"},
		{"manifests", "helm/values.yaml", []string{"pods"}, "", "pods/a.yaml helm/values.yaml", "pods/a.yaml:1: only a cluster of RKE "},
		{"a cluster of its own", "b/cluster.yml", []string{"a"}, "", "a/cluster.yml b/cluster.yml", "b/cluster.yml:1: this is the configuration of a cluster"},
		{"no cluster, so that there is nothing to work on", "helm/values.yaml", []string{"a/other.yaml"}, "", "a/other.yaml, helm/values.yaml", "a/other.yaml: no cluster in it"},
		{"a folder", "helm", []string{"a"}, "", "", "--ccm-values: helm: is a folder"},
		{"a missing one", "nothing.yaml", []string{"a"}, "", "", "--ccm-values: nothing.yaml: cannot read it"},
		{"a stream", "-", []string{"a"}, "", "", "--ccm-values: standard input"},
	} {
		docs, ends, errs := foundWith(t, files, c.values, c.paths...)
		assert.Equal(t, strings.Join(docs, ", "), c.docs, c.name, "the clusters are")
		assert.Equal(t, strings.Trim(strings.Join(ends, ", "), ", "), c.ends, c.name, "these end together")
		got := strings.Join(errs, "; ")
		assert.Truef(t, (c.err != "" || got == "") && strings.Contains(got, c.err) && len(errs) <= 1, "%s: the errors are %q", c.name, got)
	}
}
