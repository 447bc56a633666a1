// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
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
