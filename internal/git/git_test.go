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
	if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func commitAll(t *testing.T) (commit string) {
	t.Helper()
	do(t, "add", "--all")
	do(t, "commit", "--quiet", "--allow-empty", "--message", "a")
	commit, err := open(t).Commit(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	return commit
}

// open opens the repository as it is now: its references are read once.
func open(t *testing.T) *Repository {
	t.Helper()
	r, err := Open(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// told lists changes as before→after.
func told(changes []Change) []string {
	var list []string
	name := func(f *File) string {
		if f == nil {
			return ""
		}
		return f.Path
	}
	for _, c := range changes {
		list = append(list, name(c.Before)+"→"+name(c.After))
	}
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
	if err := os.Remove("gone"); err != nil {
		t.Fatal(err)
	}
	do(t, "mv", "old", "moved")
	if err := os.Symlink("same", "link"); err != nil {
		t.Fatal(err)
	}
	want := []string{"changed→changed", "gone→", "odd \n\"ü\t→odd \n\"ü\t", "old→moved", "→link", "→new"}
	got, err := r.Changes(t.Context(), first, "")
	if err != nil || !slices.Equal(told(got), want) {
		t.Errorf("working tree: %q, %v", told(got), err)
	}
	second := commitAll(t)
	if got, err = r.Changes(t.Context(), first, second); err != nil || !slices.Equal(told(got), want) {
		t.Errorf("commit: %q, %v", told(got), err)
	}
}

// Links and submodules are changes of their own kind, in the working tree and in a commit.
func TestLinksAndSubmodulesAreChanges(t *testing.T) {
	r := repository(t)
	put(t, "file", "a")
	put(t, "of/here", "a")
	if err := os.Symlink("of", "link"); err != nil {
		t.Fatal(err)
	}
	first := commitAll(t)
	for _, name := range []string{"file", "link"} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("of/here", "file"); err != nil {
		t.Fatal(err)
	}
	put(t, "link", "a")
	if err := os.Symlink("../out", "of/out"); err != nil {
		t.Fatal(err)
	}
	do(t, "init", "--quiet", "inner")
	do(t, "-C", "inner", "commit", "--quiet", "--allow-empty", "--message", "a")
	kinds := func(to string) (list []string) {
		changes, err := r.Changes(t.Context(), first, to)
		if err != nil {
			t.Fatal(err)
		}
		base, err := r.Tree(t.Context(), first)
		if err != nil {
			t.Fatal(err)
		}
		tree := base.Changed(changes)
		for _, c := range changes {
			line := c.After.Path + ": " + c.After.Kind()
			if f, found := tree[c.After.Path]; !found || f != *c.After {
				t.Errorf("%s is not in the tree", line)
			}
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
	if got := kinds(""); !slices.Equal(got, want) {
		t.Errorf("working tree: %q", got)
	}
	do(t, "-c", "advice.addEmbeddedRepo=false", "add", "--all")
	if got := kinds(commitAll(t)); !slices.Equal(got, want) {
		t.Errorf("commit: %q", got)
	}
	do(t, "-C", "inner", "commit", "--quiet", "--allow-empty", "--message", "b")
	if got, err := r.Changes(t.Context(), first, ""); err != nil || !slices.Contains(told(got), "→inner") {
		t.Errorf("%q, %v", told(got), err)
	}
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
	if err != nil || len(tree) != len(texts)+1 {
		t.Fatal(tree, err)
	}
	for _, f := range tree {
		if path.Dir(f.Path) != "a" {
			continue
		}
		if got, err := r.Read(f, 100); err != nil || string(got) != texts[f.Path] {
			t.Errorf("%s: %q, %v", f.Path, got, err)
		}
	}
	f, found, err := r.File(t.Context(), commit, "b/c")
	if err != nil || !found {
		t.Fatal(found, err)
	}
	if text, err := r.Read(f, 2); err != nil || string(text) != "y\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, found, err := r.File(t.Context(), commit, "b/none"); err != nil || found {
		t.Error(found, err)
	}
}

func TestPathsAreNamedAsSeenFromTheCurrentFolder(t *testing.T) {
	repository(t)
	put(t, "a/b/c", "")
	t.Chdir("a/b")
	r := open(t)
	if got := r.Name("a/b/c"); got != "c" {
		t.Error(got)
	}
	if got := r.Name("z"); got != filepath.FromSlash("../../z") {
		t.Error(got)
	}
	if got, inside := r.Path("../x"); got != "a/x" || !inside {
		t.Error(got, inside)
	}
	if _, inside := r.Path("../../../x"); inside {
		t.Error("a path outside of the repository is inside")
	}
	if got := strings.Join(r.Above(), " "); got != "a/b a ." {
		t.Error(got)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got, inside := r.Path(filepath.Join(here, "c")); got != "a/b/c" || !inside {
		t.Error(got, inside)
	}
}

func TestNothingOfTheRepositoryIsWritten(t *testing.T) {
	r := repository(t)
	put(t, "a", "a")
	commit := commitAll(t)
	put(t, "a", "b")
	before, err := os.ReadFile(".git/index")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Changes(t.Context(), commit, ""); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(".git/index"); err != nil || string(after) != string(before) {
		t.Error("the index changed", err)
	}
}

func TestErrorsNameWhatIsMissing(t *testing.T) {
	repository(t)
	commitAll(t)
	r := open(t)
	if _, err := r.Commit(t.Context(), "none"); err == nil || !strings.Contains(err.Error(), "none: no such commit in this clone") {
		t.Error(err)
	}
	if _, err := r.Commit(t.Context(), "--output=x"); err == nil || !strings.Contains(err.Error(), "no such commit") {
		t.Error(err)
	}
	first, err := r.Commit(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	do(t, "switch", "--quiet", "--orphan", "other")
	second := ""
	do(t, "commit", "--quiet", "--allow-empty", "--message", "b")
	if second, err = open(t).Commit(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.MergeBase(t.Context(), first, second); err == nil || !strings.Contains(err.Error(), "no common commit") {
		t.Error(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(os.TempDir()))
	if _, err := Open(t.Context(), "."); err == nil || !strings.Contains(err.Error(), "not a git repository") {
		t.Error(err)
	}
}
