// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// repository makes one in a folder of its own, and goes there.
func repository(t *testing.T) *Repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull, "GIT_CEILING_DIRECTORIES": filepath.Dir(dir),
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com",
		"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
	} {
		t.Setenv(name, value)
	}
	do(t, "init", "--quiet", "--initial-branch=main")
	return open(t)
}

func do(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command("git", args...).CombinedOutput()
	assert.Mustf(t, err == nil, "git %v: %v\n%s", args, err, out)
}

func put(t *testing.T, name, text string) {
	t.Helper()
	assert.NilError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	assert.NilError(t, os.WriteFile(name, []byte(text), 0o644))
}

func commitAll(t *testing.T) string {
	t.Helper()
	do(t, "add", "--all")
	do(t, "commit", "--quiet", "--allow-empty", "--message", "a")
	return assert.Value(open(t).Commit("HEAD"))(t)
}

// open opens the repository as it is now: its references are read once.
func open(t *testing.T) *Repository {
	t.Helper()
	r := assert.Value(Open(t.Context(), "."))(t)
	t.Cleanup(r.Close)
	return r
}

// pairs lists changes as before→after.
func pairs(changes []Change) []string {
	name := func(f *File) string {
		if f == nil {
			return ""
		}
		return f.Path
	}
	list := lists.Map(changes, func(c Change) string { return name(c.Before) + "→" + name(c.After) })
	slices.Sort(list)
	return list
}

const long = "a\nb\nc\nd\ne\nf\ng\nh\n"

func TestChangesAreThoseOfTheWorkingTreeOrOfACommit(t *testing.T) {
	r := repository(t)
	for name, text := range map[string]string{"same": "a", "changed": "a", "gone": "z", "old": long, "odd \n\"ü\t": "a", ".gitignore": "ignored\n"} {
		put(t, name, text)
	}
	first := commitAll(t)
	put(t, "changed", "b")
	put(t, "odd \n\"ü\t", "b")
	put(t, "new", "n")
	put(t, "ignored", "i")
	assert.NilError(t, os.Remove("gone"))
	do(t, "mv", "old", "moved")
	assert.NilError(t, os.Symlink("same", "link"))
	want := []string{"changed→changed", "gone→", "odd \n\"ü\t→odd \n\"ü\t", "old→moved", "→link", "→new"}
	assert.EqualSlices(t, pairs(assert.Value(r.Changes(t.Context(), first, ""))(t)), want, "working tree")
	assert.EqualSlices(t, pairs(assert.Value(r.Changes(t.Context(), first, commitAll(t)))(t)), want, "commit")
}

// Links and submodules are changes of their own kind, in the working tree and in a commit.
func TestLinksAndSubmodulesAreChanges(t *testing.T) {
	r := repository(t)
	put(t, "file", "a")
	put(t, "of/here", "a")
	assert.NilError(t, os.Symlink("of", "link"))
	first := commitAll(t)
	for _, name := range []string{"file", "link"} {
		assert.NilError(t, os.Remove(name))
	}
	assert.NilError(t, os.Symlink("of/here", "file"))
	put(t, "link", "a")
	assert.NilError(t, os.Symlink("../out", "of/out"))
	do(t, "init", "--quiet", "inner")
	do(t, "-C", "inner", "commit", "--quiet", "--allow-empty", "--message", "a")
	kinds := func(to string) (list []string) {
		changes := assert.Value(r.Changes(t.Context(), first, to))(t)
		base := assert.Value(r.Tree(t.Context(), first))(t)
		tree := base.Changed(changes)
		for _, c := range changes {
			line := c.After.Path + ": " + c.After.Kind()
			f, found := tree[c.After.Path]
			assert.Truef(t, found && f == *c.After, "%s is not in the tree", line)
			if c.Before != nil {
				line = c.Before.Kind() + " → " + line
			}
			if c.After.Kind() == "symbolic link" {
				line += " to " + r.Target(*c.After)
			}
			list = append(list, line)
		}
		slices.Sort(list)
		return list
	}
	want := []string{" → file: symbolic link to of/here", "inner: submodule", "of/out: symbolic link to out", "symbolic link → link: "}
	assert.EqualSlices(t, kinds(""), want, "working tree")
	do(t, "-c", "advice.addEmbeddedRepo=false", "add", "--all")
	assert.EqualSlices(t, kinds(commitAll(t)), want, "commit")
	do(t, "-C", "inner", "commit", "--quiet", "--allow-empty", "--message", "b")
	got, err := r.Changes(t.Context(), first, "")
	assert.Truef(t, err == nil && slices.Contains(pairs(got), "→inner"), "%q, %v", pairs(got), err)
}

func TestTheBytesOfACommitAreReadAsTheyAre(t *testing.T) {
	r := repository(t)
	texts := map[string]string{"a/crlf": "a\r\nb\r\n", "a/empty": "", "a/no-break": "x", "b/c": "y\n"}
	for name, text := range texts {
		put(t, name, text)
	}
	put(t, ".gitattributes", "* -text filter=shout\n")
	do(t, "config", "filter.shout.smudge", "tr a-z A-Z") // at a checkout
	commit := commitAll(t)
	tree, err := r.Tree(t.Context(), commit)
	assert.Must(t, err == nil && len(tree) == len(texts)+1, tree, err)
	for _, f := range tree {
		if path.Dir(f.Path) != "a" {
			continue
		}
		got, err := r.Read(f, 100)
		assert.Truef(t, err == nil && string(got) == texts[f.Path], "%s: %q, %v", f.Path, got, err)
	}
	some, err := r.Tree(t.Context(), commit, "b/none", "b/c")
	assert.Must(t, err == nil && len(some) == 1, some, err)
	assert.Equal(t, string(assert.Value(r.Read(some["b/c"], 2))(t)), "y\n")
}

func TestPathsAreNamedAsSeenFromTheCurrentFolder(t *testing.T) {
	repository(t)
	put(t, "a/b/c", "")
	t.Chdir("a/b")
	r := open(t)
	assert.Equal(t, r.Name("a/b/c"), "c")
	assert.Equal(t, r.Name("z"), filepath.FromSlash("../../z"))
	got, inside := r.Path("../x")
	assert.True(t, got == "a/x" && inside, got, inside)
	_, inside = r.Path("../../../x")
	assert.True(t, !inside, "a path outside of the repository is inside")
	assert.Equal(t, strings.Join(r.Above(), " "), "a/b a .")
	here := assert.Value(os.Getwd())(t)
	got, inside = r.Path(filepath.Join(here, "c"))
	assert.True(t, got == "a/b/c" && inside, got, inside)
}

func TestNothingOfTheRepositoryIsWritten(t *testing.T) {
	r := repository(t)
	put(t, "a", "a")
	commit := commitAll(t)
	put(t, "a", "b")
	before := assert.Value(os.ReadFile(".git/index"))(t)
	_, err := r.Changes(t.Context(), commit, "")
	assert.NilError(t, err)
	after, err := os.ReadFile(".git/index")
	assert.True(t, err == nil && string(after) == string(before), "the index changed", err)
}

func TestErrorsNameWhatIsMissing(t *testing.T) {
	repository(t)
	commitAll(t)
	r := open(t)
	assert.Error(r.Commit("none"))(t, "none: no such commit in this clone")
	assert.Error(r.Commit("--output=x"))(t, "no such commit")
	assert.Error(r.Commit("main\nmain"))(t, "no such commit")
	assert.Error(r.Commit("main^{tree}"))(t, "no such commit")
	first := assert.Value(r.Commit("main"))(t)
	do(t, "switch", "--quiet", "--orphan", "other")
	do(t, "commit", "--quiet", "--allow-empty", "--message", "b")
	second := assert.Value(open(t).Commit("other"))(t)
	assert.Error(r.MergeBase(t.Context(), first, second))(t, "no common commit")
	t.Chdir(t.TempDir())
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(os.TempDir()))
	assert.Error(Open(t.Context(), "."))(t, "not a git repository")
}
