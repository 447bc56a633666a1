// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// tree makes files that hold their own name, and makes their folder the current one.
func tree(t *testing.T, names ...string) {
	t.Helper()
	folder := t.TempDir()
	t.Chdir(folder)
	for _, name := range names {
		write(t, folder, name, name)
	}
}

// names lists the sources found; "!" marks those that were named.
func names(found []Source) []string {
	var list []string
	for _, s := range found {
		name := filepath.ToSlash(s.Name)
		if s.Named {
			name = "!" + name
		}
		list = append(list, name)
	}
	return list
}

// checkFound fails unless Find returns exactly the sources wanted.
func checkFound(t *testing.T, paths []string, want ...string) {
	t.Helper()
	found, err := Find(paths, strings.NewReader(""), Excluded{})
	assert.Truef(t, err == nil, "Find(%q): %v", paths, err)
	got := names(found)
	assert.Truef(t, slices.Equal(got, want), "Find(%q):\ngot  %q\nwant %q", paths, got, want)
}

// checkRefused fails unless Find returns an error that holds the text and the next
// bad path, and still finds the file named between them.
func checkRefused(t *testing.T, path string, holds ...string) {
	t.Helper()
	good := write(t, t.TempDir(), "good.yaml", "")
	found, err := Find([]string{path, good, "another"}, nil, Excluded{})
	assert.Mustf(t, err != nil, "Find(%q) returned no error", path)
	assert.ContainsAll(t, err.Error(), append(holds, path, "another: "))
	assert.Truef(t, len(found) == 1 && found[0].Name == good, "Find(%q, good) found %q", path, names(found))
}

func TestFilesAreFoundInTheirOrder(t *testing.T) {
	here := []string{"."}
	for _, c := range []struct {
		name               string
		tree, paths, found []string
	}{
		{"YAML, JSON and other forms", []string{"b.yaml", "a.yml", "c.json", "d.txt", "g.tf", "yaml", "e.yaml.bak", "sub/deep/f.yaml", "sub/README.md"}, here, []string{"a.yml", "b.yaml", "c.json", "g.tf", "sub/deep/f.yaml"}},
		{"those of a folder by their names, and paths as they are given", []string{"z/b.yaml", "z/a.yaml", "z/a/c.yaml", "y.yaml", "x.yaml"}, []string{"y.yaml", "z", "x.yaml"}, []string{"!y.yaml", "z/a/c.yaml", "z/a.yaml", "z/b.yaml", "!x.yaml"}},
		{"none that are hidden", []string{"a.yaml", ".b.yaml", ".yaml", ".git/c.yaml", "sub/.d/e.yaml", "sub/..data/f.yaml"}, here, []string{"a.yaml"}},
		{"what is named, even if hidden or of another extension", []string{".b.yaml", ".hidden/c.yaml", "cluster.txt", "dir.yaml/d.json"}, []string{".b.yaml", ".hidden", "cluster.txt", "dir.yaml"}, []string{"!.b.yaml", ".hidden/c.yaml", "!cluster.txt", "dir.yaml/d.json"}},
		{"a file called dash", []string{"-"}, []string{"./-"}, []string{"!./-"}},
		{"none in a folder without any", []string{"sub/a.txt"}, here, nil},
		{"none without a path", []string{"a.yaml"}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree(t, c.tree...)
			checkFound(t, c.paths, c.found...)
		})
	}
}

func TestAFolderIsSearchedUnderTheNameGiven(t *testing.T) {
	tree(t, "sub/a.yaml", "sub/deep/b.yaml")
	checkFound(t, []string{"./sub/"}, "sub/a.yaml", "sub/deep/b.yaml")
	t.Chdir("sub")
	checkFound(t, []string{"../sub"}, "../sub/a.yaml", "../sub/deep/b.yaml")
	checkFound(t, []string{"deep/.."}, "a.yaml", "deep/b.yaml")
}

func TestAFileIsFoundOnceAndNamedOnceIsNamed(t *testing.T) {
	tree(t, "a.yaml", "sub/b.yaml")
	absolute := assert.Value(filepath.Abs("a.yaml"))(t)
	checkFound(t, []string{".", "./a.yaml", absolute, "sub", "sub/../sub/b.yaml"}, "!a.yaml", "!sub/b.yaml")
	checkFound(t, []string{"a.yaml", "."}, "!a.yaml", "sub/b.yaml")
}

func TestADashIsStandardInput(t *testing.T) {
	tree(t, "a.yaml")
	found, err := Find([]string{"-", "a.yaml", "-"}, strings.NewReader("b: 1\n"), Excluded{})
	assert.Mustf(t, err == nil && slices.Equal(names(found), []string{"!<stdin>", "!a.yaml"}), "found %q, error %v", names(found), err)
	assert.Truef(t, !found[0].IsFile() && found[0].Path == "" && found[1].IsFile(), "found %+v", found)
	chunks, _, err := documents(found[0])
	assert.Truef(t, err == nil && len(chunks) == 1 && string(chunks[0].Bytes) == "b: 1\n", "chunks %+v, error %v", chunks, err)
}

func TestAMissingPathIsAnErrorThatNamesIt(t *testing.T) {
	tree(t)
	checkRefused(t, "missing.yaml", "no such file or folder", "check the path")
	checkRefused(t, filepath.Join("missing", "folder"), "no such file or folder")
	checkRefused(t, "", "a path is empty")
}

func TestAPathThroughAFileIsAnErrorThatNamesIt(t *testing.T) {
	tree(t, "a.yaml")
	path := filepath.Join("a.yaml", "b.yaml")
	_, err := Find([]string{path}, nil, Excluded{})
	assert.Truef(t, err != nil && strings.Count(err.Error(), path) == 1, "error: %v", err)
}

// What is written into a folder that a search enters would be read by the next run.
func TestAFolderIsCoveredByASearchThatWouldEnterIt(t *testing.T) {
	root := t.TempDir()
	clusters := filepath.Join(root, "clusters")
	file := filepath.Join(clusters, "orchard.yaml")
	for _, err := range []error{os.MkdirAll(filepath.Join(clusters, "eu"), 0o755), os.WriteFile(file, nil, 0o600), os.Symlink(clusters, filepath.Join(root, "link"))} {
		assert.NilError(t, err)
	}
	for _, c := range []struct {
		name    string
		folder  string
		paths   []string
		covered string // "" for not
	}{
		{"itself", clusters, []string{clusters}, clusters},
		{"below", filepath.Join(clusters, "eu"), []string{clusters}, clusters},
		{"not there yet", filepath.Join(clusters, "us", "plans"), []string{clusters}, clusters},
		{"hidden", filepath.Join(clusters, ".plans"), []string{clusters}, ""},
		{"not there yet, below a hidden one", filepath.Join(clusters, ".git", "plans"), []string{clusters}, ""},
		{"above", root, []string{clusters}, ""},
		{"next to it", filepath.Join(root, "plans"), []string{clusters}, ""},
		{"next to it, with a name that begins so", clusters + "-plans", []string{clusters}, ""},
		{"by a link", filepath.Join(root, "link", "eu"), []string{clusters}, clusters},
		{"from a link", filepath.Join(clusters, "eu"), []string{filepath.Join(root, "link")}, filepath.Join(root, "link")},
		{"by the second of two", filepath.Join(clusters, "eu"), []string{filepath.Join(root, "gone"), clusters}, clusters},
		{"by a file, which is no search", clusters, []string{file}, ""},
	} {
		path, is := Covers(c.paths, c.folder)
		assert.Truef(t, path == c.covered && is == (c.covered != ""), "%s: %q %t", c.name, path, is)
	}
}

func TestOnlyAFileHasAPath(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	here := assert.Value(os.Getwd())(t)
	assert.Equal(t, Source{Path: "a.yaml"}.Absolute(), filepath.Join(here, "a.yaml"))
	// An object of a server is known by its name, and was read elsewhere.
	assert.Equal(t, FromReader("fleet-default/harbour", nil).Absolute(), "")
	assert.Equal(t, FromReader("-", strings.NewReader("")).Absolute(), "")
}

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
