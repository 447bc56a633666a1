// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
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
