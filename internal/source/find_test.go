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

// checkRefused fails unless Find returns an error that holds the text, and
// still finds the file named after the bad path.
func checkRefused(t *testing.T, path string, holds ...string) {
	t.Helper()
	good := write(t, t.TempDir(), "good.yaml", "")
	found, err := Find([]string{path, good}, nil, Excluded{})
	assert.Mustf(t, err != nil, "Find(%q) returned no error", path)
	for _, text := range append(holds, path) {
		assert.Truef(t, strings.Contains(err.Error(), text), "Find(%q): error %q does not hold %q", path, err, text)
	}
	assert.Truef(t, len(found) == 1 && found[0].Name == good, "Find(%q, good) found %q", path, names(found))
}

func TestAFolderIsSearchedForYAMLAndJSONAndOtherForms(t *testing.T) {
	tree(t, "b.yaml", "a.yml", "c.json", "d.txt", "g.tf", "yaml", "e.yaml.bak", "sub/deep/f.yaml", "sub/README.md")
	checkFound(t, []string{"."}, "a.yml", "b.yaml", "c.json", "g.tf", "sub/deep/f.yaml")
}

func TestFilesAreFoundInOrder(t *testing.T) {
	tree(t, "z/b.yaml", "z/a.yaml", "z/a/c.yaml", "y.yaml", "x.yaml")
	checkFound(t, []string{"y.yaml", "z", "x.yaml"}, "!y.yaml", "z/a/c.yaml", "z/a.yaml", "z/b.yaml", "!x.yaml")
}

func TestHiddenFilesAndFoldersAreSkippedInAFolder(t *testing.T) {
	tree(t, "a.yaml", ".b.yaml", ".yaml", ".git/c.yaml", "sub/.d/e.yaml", "sub/..data/f.yaml")
	checkFound(t, []string{"."}, "a.yaml")
}

func TestWhatIsNamedIsTakenEvenIfHiddenOrOfAnotherExtension(t *testing.T) {
	tree(t, ".b.yaml", ".hidden/c.yaml", "cluster.txt", "dir.yaml/d.json")
	checkFound(t, []string{".b.yaml", ".hidden", "cluster.txt", "dir.yaml"},
		"!.b.yaml", ".hidden/c.yaml", "!cluster.txt", "dir.yaml/d.json")
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

func TestAFileCalledDashCanBeReached(t *testing.T) {
	tree(t, "-")
	checkFound(t, []string{"./-"}, "!./-")
}

func TestAFolderWithoutFilesIsNoError(t *testing.T) {
	tree(t, "sub/a.txt")
	checkFound(t, []string{"."})
	checkFound(t, nil)
}

func TestAMissingPathIsAnErrorThatNamesIt(t *testing.T) {
	tree(t)
	checkRefused(t, "missing.yaml", "no such file or folder", "check the path")
	checkRefused(t, filepath.Join("missing", "folder"), "no such file or folder")
	checkRefused(t, "", "a path is empty")
}

func TestEveryBadPathIsReported(t *testing.T) {
	tree(t, "a.yaml")
	found, err := Find([]string{"one", "a.yaml", "two"}, nil, Excluded{})
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "one: ") && strings.Contains(err.Error(), "two: ") && len(found) == 1, "found %q, error %v", names(found), err)
}

func TestAPathThroughAFileIsAnErrorThatNamesIt(t *testing.T) {
	tree(t, "a.yaml")
	path := filepath.Join("a.yaml", "b.yaml")
	_, err := Find([]string{path}, nil, Excluded{})
	assert.Truef(t, err != nil && strings.Count(err.Error(), path) == 1, "error: %v", err)
}

func BenchmarkFind(b *testing.B) {
	folder := b.TempDir()
	for i := range 2000 {
		name := filepath.Join(folder, strings.Repeat("x", i%50+1), strings.Repeat("y", i/50+1)+".yaml")
		assert.NilError(b, os.MkdirAll(filepath.Dir(name), 0o755))
		assert.NilError(b, os.WriteFile(name, nil, 0o644))
	}
	for b.Loop() {
		found, err := Find([]string{folder}, nil, Excluded{})
		assert.Must(b, err == nil && len(found) == 2000, len(found), err)
	}
}
