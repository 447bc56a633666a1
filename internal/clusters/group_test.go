// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestTheFilesOfAFolderEndTogetherAndAStreamByItself(t *testing.T) {
	folder := t.TempDir()
	file := func(name string) source.Source {
		path := filepath.Join(folder, name)
		return source.Source{Name: path, Path: path}
	}
	f := NewFolders([]source.Source{file("a.yaml"), file("sub/b.yaml"), source.FromReader("<stdin>", strings.NewReader("")), file("c.yaml")}, false)
	var ends []bool
	for i := range 4 {
		ends = append(ends, f.Ends(i))
	}
	if !slices.Equal(ends, []bool{false, true, true, true}) || f.Of(0) != f.Of(3) || f.Of(0) == f.Of(1) || f.Of(1) == f.Of(2) {
		t.Errorf("%v in %v", ends, f.of)
	}
}

// backwards is a distro whose clusters have their documents in the reverse order.
var backwards = transform.Distro{Span: transform.Span{Gather: func(docs, _ []*yamledit.Document) ([][]*yamledit.Document, error) {
	if docs[0].Root().Get("refused").Exists() {
		return nil, errors.New("two clusters")
	}
	docs = slices.Clone(docs)
	slices.Reverse(docs)
	return [][]*yamledit.Document{docs}, nil
}}}

// alone is a distro each of whose documents is a cluster, together with all documents next to it.
var alone = transform.Distro{Span: transform.Span{Gather: func(docs, related []*yamledit.Document) (all [][]*yamledit.Document, err error) {
	for _, doc := range docs {
		all = append(all, append([]*yamledit.Document{doc}, related...))
	}
	return all, nil
}}}

func parse(t *testing.T, text string) *yamledit.Document {
	t.Helper()
	doc, err := yamledit.ParseString("g.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestAGroupKnowsTheSourceOfEachDocumentInTheOrderOfItsDistro(t *testing.T) {
	g := NewGroup(backwards)
	a, b, role := parse(t, "a: 1\n"), parse(t, "b: 1\n"), parse(t, "kind: Role\n")
	g.Add(a, source.Source{Name: "a"})
	g.See(role, source.Source{Name: "role"})
	g.Add(b, source.Source{Name: "b"})
	doc, from := g.First()
	all, err := g.Clusters()
	if err != nil || len(all) != 1 || doc != a || from.Name != "a" {
		t.Fatalf("%+v, %v", all, err)
	}
	if c := all[0]; !slices.Equal(c.Docs, []*yamledit.Document{b, a}) || c.Sources[0].Name != "b" || c.Sources[1].Name != "a" || !slices.Equal(c.Related, []*yamledit.Document{role}) {
		t.Errorf("%+v", c)
	}
}

func TestAGroupOfSeveralClustersKnowsTheSourceOfADocumentThatTheyShare(t *testing.T) {
	g := NewGroup(alone)
	a, b, shared := parse(t, "a: 1\n"), parse(t, "b: 1\n"), parse(t, "kind: ConfigMap\n")
	g.Add(a, source.Source{Name: "a"})
	g.Add(b, source.Source{Name: "b"})
	g.See(shared, source.Source{Name: "shared"})
	all, err := g.Clusters()
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, first := range []*yamledit.Document{a, b} {
		if c := all[i]; !slices.Equal(c.Docs, []*yamledit.Document{first, shared}) || c.Sources[1].Name != "shared" {
			t.Errorf("%+v", c)
		}
	}
}

func TestAGroupOfTwoClustersIsRefused(t *testing.T) {
	g := NewGroup(backwards)
	g.Add(parse(t, "refused: true\n"), source.Source{})
	if _, err := g.Clusters(); err == nil || err.Error() != "two clusters" {
		t.Error(err)
	}
}
