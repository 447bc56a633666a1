// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/lists"
)

func TestWhatIsExcludedIsNotFound(t *testing.T) {
	tree(t, "a.yaml", "charts/b.yaml", "eu/charts/c.yaml", "eu/test/d.yaml", "eu/west/test/e.yaml", "eu/values-dev.yaml", "us/f.yaml")
	all := []string{"a.yaml", "charts/b.yaml", "eu/charts/c.yaml", "eu/test/d.yaml", "eu/values-dev.yaml", "eu/west/test/e.yaml", "us/f.yaml"}
	for _, c := range []struct {
		globs []string
		left  []string
	}{
		{nil, nil},
		{[]string{"charts"}, []string{"charts/b.yaml", "eu/charts/c.yaml"}},
		{[]string{"charts/"}, []string{"charts/b.yaml", "eu/charts/c.yaml"}},
		{[]string{"./charts"}, []string{"charts/b.yaml"}},
		{[]string{"charts/*"}, []string{"charts/b.yaml"}},
		{[]string{"values*.yaml", "us"}, []string{"eu/values-dev.yaml", "us/f.yaml"}},
		{[]string{"eu/**/test"}, []string{"eu/test/d.yaml", "eu/west/test/e.yaml"}},
		{[]string{"eu/*/test"}, []string{"eu/west/test/e.yaml"}},
		{[]string{"{a,f}.yaml"}, []string{"a.yaml", "us/f.yaml"}},
		{[]string{"**/*.yaml"}, all},
		{[]string{"other", "b.yml"}, nil},
	} {
		e := assert.Value(Exclude(".", c.globs))(t)
		want := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(c.left, name) })
		for _, paths := range [][]string{{"."}, all} {
			found, err := Find(paths, nil, e)
			got := names(found)
			assert.Truef(t, err == nil && slices.Equal(got, marked(want, len(paths) > 1)), "--exclude %q of %.10q: %v\ngot  %q\nwant %q", c.globs, paths, err, got, want)
		}
	}
}

// marked is as names marks files that were named.
func marked(list []string, named bool) []string {
	if !named {
		return list
	}
	return lists.Map(list, func(name string) string { return "!" + name })
}

// The folder in which the search runs has no part in it, wherever it is.
func TestFoldersAboveAreNotExcluded(t *testing.T) {
	tree(t, "charts/charts.yaml", "b.yaml")
	t.Chdir("charts")
	e := assert.Value(Exclude(".", []string{"charts"}))(t)
	for _, name := range []string{"charts.yaml", ".", "../b.yaml"} {
		assert.Truef(t, !e.Has(name), "%s is left out", name)
	}
	above := assert.Value(filepath.Abs(".."))(t)
	for _, glob := range []string{"../b.yaml", filepath.ToSlash(above) + "/*.yaml"} {
		e, err := Exclude(".", []string{glob})
		assert.Truef(t, err == nil && e.Has("../b.yaml"), "%s leaves ../b.yaml: %v", glob, err)
	}
}

func TestPatternsArePathsFromTheirFolder(t *testing.T) {
	tree(t, "clusters/test/a.yaml", "clusters/b.yaml", "test/c.yaml")
	t.Chdir("clusters")
	e := assert.Value(Exclude("..", []string{"clusters/test", "test/c.yaml"}))(t)
	for name, want := range map[string]bool{"test/a.yaml": true, "test": true, "b.yaml": false, "../test/c.yaml": true, "../test": false} {
		assert.Truef(t, e.Has(name) == want, "%s is left out: %v", name, !want)
	}
}

func TestAPatternThatIsNoneIsAnError(t *testing.T) {
	for _, glob := range []string{"", "[a", "{a"} {
		assert.Error(Exclude(".", []string{"ok", glob}))(t, "is not a pattern; use one such as", glob)
	}
}
