// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestTheFilesOfAFolderEndTogetherAndAStreamByItself(t *testing.T) {
	folder := t.TempDir()
	file := func(name string) source.Source {
		path := filepath.Join(folder, name)
		return source.Source{Name: path, Path: path}
	}
	of := Finder{}.folders([]source.Source{file("a.yaml"), file("sub/b.yaml"), source.FromReader("<stdin>", strings.NewReader("")), file("c.yaml")})
	var ends []bool
	for i := range 4 {
		ends = append(ends, of[i].last == i)
	}
	assert.Truef(t, slices.Equal(ends, []bool{false, true, true, true}) && of[0] == of[3] && of[0] != of[1] && of[1] != of[2], "%v in %v", ends, of)
}

// backwards is a format whose clusters have their documents in the reverse order.
var backwards = transform.Format{Grouping: transform.Grouping{Group: func(docs, _ []*yamledit.Document) ([][]*yamledit.Document, error) {
	if docs[0].Root().Get("refused").Exists() {
		return nil, errors.New("two clusters")
	}
	docs = slices.Clone(docs)
	slices.Reverse(docs)
	return [][]*yamledit.Document{docs}, nil
}}}

// alone is a format each of whose documents is a cluster, together with all documents next to it.
var alone = transform.Format{Grouping: transform.Grouping{Group: func(docs, related []*yamledit.Document) (all [][]*yamledit.Document, err error) {
	for _, doc := range docs {
		all = append(all, append([]*yamledit.Document{doc}, related...))
	}
	return all, nil
}}}

func newFolder() *folder { return &folder{sources: map[*yamledit.Document]source.Source{}} }

// see adds a document that rules read.
func (in *folder) see(doc *yamledit.Document, name string) {
	in.related, in.sources[doc] = append(in.related, doc), source.Source{Name: name}
}

func parse(t *testing.T, text string) *yamledit.Document {
	t.Helper()
	return assert.Value(yamledit.ParseString("g.yaml", text))(t)
}

func TestAGroupKnowsTheSourceOfEachDocumentInTheOrderOfItsFormat(t *testing.T) {
	in := newFolder()
	a, b, role := parse(t, "a: 1\n"), parse(t, "b: 1\n"), parse(t, "kind: Role\n")
	in.add(backwards, a, source.Source{Name: "a"})
	in.see(role, "role")
	in.add(backwards, b, source.Source{Name: "b"})
	all, err := in.clusters(in.groups[0])
	assert.Mustf(t, err == nil && len(all) == 1, "%+v, %v", all, err)
	c := all[0]
	assert.True(t, slices.Equal(c.Docs, []*yamledit.Document{b, a}) && c.Sources[0].Name == "b" && c.Sources[1].Name == "a" && slices.Equal(c.Related, []*yamledit.Document{role}), c)
}

func TestAGroupOfSeveralClustersKnowsTheSourceOfADocumentThatTheyShare(t *testing.T) {
	in := newFolder()
	a, b, shared := parse(t, "a: 1\n"), parse(t, "b: 1\n"), parse(t, "kind: ConfigMap\n")
	in.add(alone, a, source.Source{Name: "a"})
	in.add(alone, b, source.Source{Name: "b"})
	in.see(shared, "shared")
	all, err := in.clusters(in.groups[0])
	assert.Mustf(t, err == nil && len(all) == 2, "%+v, %v", all, err)
	for i, first := range []*yamledit.Document{a, b} {
		c := all[i]
		assert.True(t, slices.Equal(c.Docs, []*yamledit.Document{first, shared}) && c.Sources[1].Name == "shared", c)
	}
}

func TestAGroupOfTwoClustersIsRefused(t *testing.T) {
	in := newFolder()
	in.add(backwards, parse(t, "refused: true\n"), source.Source{})
	_, err := in.clusters(in.groups[0])
	assert.True(t, err != nil && err.Error() == "two clusters", err)
}

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
