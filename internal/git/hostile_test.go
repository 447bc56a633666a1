// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// programs are the settings with which a repository starts a program, from git's documentation. PROGRAM is
// replaced by one that leaves a mark.
var programs = []string{
	"alias.diff !PROGRAM", "alias.cat-file !PROGRAM", "core.alternateRefsCommand PROGRAM", "core.askPass PROGRAM", "core.editor PROGRAM", "core.fsmonitor PROGRAM",
	"core.gitProxy PROGRAM", "core.hooksPath hooks", "core.pager PROGRAM", "core.sshCommand PROGRAM", "credential.helper !PROGRAM", "diff.external PROGRAM",
	"diff.evil.command PROGRAM", "diff.evil.textconv PROGRAM", "filter.evil.clean PROGRAM", "filter.evil.smudge PROGRAM", "filter.evil.process PROGRAM", "gpg.program PROGRAM",
	"gpg.ssh.defaultKeyCommand PROGRAM", "include.path evil.inc", "includeIf.gitdir:/.path evil.inc", "interactive.diffFilter PROGRAM", "log.showSignature true", "merge.evil.driver PROGRAM",
	"pager.diff PROGRAM", "pager.cat-file PROGRAM", "remote.origin.uploadpack PROGRAM", "remote.origin.receivepack PROGRAM", "remote.origin.vcs evil", "sequence.editor PROGRAM",
	"submodule.sub.update !PROGRAM", "trailer.evil.command PROGRAM", "uploadpack.packObjectsHook PROGRAM",
}

// attack is a repository that starts a program.
type attack struct {
	commit  string
	lost    File // is missing, as in a partial clone, which fetches it
	program string
}

// set adds settings that name the program, and returns their reverse.
func (a attack) set(t *testing.T, settings ...string) (unset func()) {
	t.Helper()
	for _, s := range settings {
		key, value, _ := strings.Cut(s, " ")
		do(t, "config", key, strings.ReplaceAll(value, "PROGRAM", a.program))
	}
	return func() {
		for _, s := range settings {
			key, _, _ := strings.Cut(s, " ")
			do(t, "config", "--unset", key)
		}
	}
}

// ran reports whether the program has run since it was asked for.
func (a attack) ran() bool { return os.Remove(a.program+".ran") == nil }

// hostile makes a repository in which reading what was committed starts a program.
func hostile(t *testing.T) (a attack) {
	t.Helper()
	r := repository(t)
	put(t, "a.yaml", "a\n")
	put(t, "lost.yaml", "lost\n")
	put(t, ".gitattributes", "* filter=evil diff=evil merge=evil\n")
	a.commit = commitAll(t)
	a.lost = assert.Value(r.Tree(t.Context(), a.commit))(t)["lost.yaml"]
	assert.NilError(t, os.Remove(filepath.Join(".git", "objects", a.lost.Hash[:2], a.lost.Hash[2:])))
	a.program = filepath.Join(t.TempDir(), "program")
	for _, file := range []string{a.program, ".git/hooks/post-index-change", ".git/hooks/reference-transaction", "hooks/post-index-change"} {
		put(t, file, "#!/bin/sh\ntouch "+a.program+".ran\n")
		assert.NilError(t, os.Chmod(file, 0o755))
	}
	put(t, ".git/evil.inc", "[core]\n\tfsmonitor = "+a.program+"\n[filter \"evil\"]\n\tclean = "+a.program+"\n")
	a.set(t, "core.repositoryformatversion 1", "extensions.partialClone origin", "remote.origin.promisor true", "remote.origin.url ext::"+a.program, "protocol.ext.allow always")
	put(t, "a.yaml", "b\n") // its bytes are compared, through filters
	a.ran()
	return a
}

// read does everything that a review does.
func (a attack) read(t *testing.T) error {
	t.Helper()
	r, err := Open(t.Context(), ".")
	if err != nil {
		return err
	}
	defer r.Close()
	assert.Value(r.Commit("HEAD"))(t)
	assert.Value(r.MergeBase(t.Context(), a.commit, a.commit))(t)
	assert.Value(r.Tree(t.Context(), a.commit))(t)
	changes := assert.Value(r.Changes(t.Context(), a.commit, ""))(t)
	assert.Contains(t, strings.Join(pairs(changes), " "), "a.yaml→a.yaml")
	assert.Error(r.Read(a.lost, 100))(t, "not in this clone", "the lost file")
	return nil
}

func TestNoSettingOfARepositoryStartsAProgram(t *testing.T) {
	a := hostile(t)
	for _, setting := range programs {
		unset := a.set(t, setting)
		a.ran() // git config has hooks too
		err := a.read(t)
		assert.Truef(t, err == nil && !a.ran(), "%s: %v, or the program ran", setting, err)
		unset()
	}
}

// The attacks of the test above are attacks: a git that is run in the repository starts the program.
func TestSettingsOfARepositoryStartProgramsOtherwise(t *testing.T) {
	a := hostile(t)
	for setting, args := range map[string][]string{
		"core.fsmonitor PROGRAM": {"status"}, "filter.evil.clean PROGRAM": {"diff", "--raw", "HEAD"}, "filter.evil.process PROGRAM": {"diff", "--raw", "HEAD"}, "include.path evil.inc": {"status"},
		"diff.external PROGRAM": {"diff", "HEAD", "--", "a.yaml"}, "diff.evil.textconv PROGRAM": {"diff", "HEAD", "--", "a.yaml"}, "core.hooksPath hooks": {"add", "a.yaml"},
		"user.name a": {"cat-file", "-p", "HEAD:lost.yaml"},
	} {
		unset := a.set(t, setting)
		put(t, "a.yaml", setting)
		exec.Command("git", args...).Run() // the program is no filter, and it fails
		assert.Truef(t, a.ran(), "%s: git %v did not start the program", setting, args)
		unset()
	}
}

// A filter of the user is started for what a repository asks it for, and variables of git can mean another
// repository.
func TestNeitherTheUsersConfigurationNorVariablesCount(t *testing.T) {
	a := hostile(t)
	global := filepath.Join(t.TempDir(), "config")
	put(t, global, "[filter \"evil\"]\n\tclean = "+a.program+"\n[core]\n\tfsmonitor = "+a.program+"\n")
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": global, "GIT_EXTERNAL_DIFF": a.program, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": a.program,
		"GIT_DIR": t.TempDir(), "GIT_INDEX_FILE": "none", "GIT_ALTERNATE_OBJECT_DIRECTORIES": "none", "GIT_PAGER": a.program,
	} {
		t.Setenv(name, value)
	}
	err := a.read(t)
	assert.Truef(t, err == nil && !a.ran(), "%v, or the program ran", err)
}

// bare commits a folder with all files of a bare repository, which git takes for one, and goes there.
func (a attack) bare(t *testing.T) {
	t.Helper()
	put(t, "clusters/HEAD", "ref: refs/heads/main\n")
	put(t, "clusters/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "+a.program+"\n")
	put(t, "clusters/objects/x", "")
	put(t, "clusters/refs/x", "")
	t.Chdir("clusters")
	out, _ := exec.Command("git", "status").CombinedOutput()
	assert.Mustf(t, a.ran(), "git does not take the folder for a repository, so this tests nothing\n%s", out)
}

func TestABareRepositoryInAFolderIsNoRepository(t *testing.T) {
	a := hostile(t)
	a.bare(t)
	err := a.read(t)
	assert.Truef(t, err == nil && !a.ran(), "%v, or the program ran", err)
}

// olderGit puts a git first in the PATH that has a version, and neither the settings nor the variables
// with which newer ones are kept from starting programs.
func olderGit(t *testing.T, version string) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	folder := t.TempDir()
	put(t, filepath.Join(folder, "git"), `#!/bin/sh
unset GIT_CONFIG_NOSYSTEM GIT_CONFIG_SYSTEM GIT_CONFIG_GLOBAL GIT_ALLOW_PROTOCOL GIT_NO_REPLACE_OBJECTS GIT_OPTIONAL_LOCKS
n=$#
while [ $n -gt 0 ]; do
  word=$1; shift; n=$((n - 1))
  case $word in
  --no-optional-locks) continue ;;
  -c) shift; n=$((n - 1)); continue ;;
  version) echo "git version `+version+`"; exit ;;
  esac
  set -- "$@" "$word"
done
exec `+real+` "$@"
`)
	assert.NilError(t, os.Chmod(filepath.Join(folder, "git"), 0o755))
	t.Setenv("PATH", folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// What keeps programs from being started is no setting that an older git ignores.
func TestAGitWithoutItsProtectionsStartsNoProgramEither(t *testing.T) {
	a := hostile(t)
	a.bare(t)
	t.Chdir("..")
	a.set(t, programs...)
	olderGit(t, "2.39.5 (Apple Git-154)")
	a.ran()
	for _, folder := range []string{".", "clusters"} {
		t.Chdir(folder)
		err := a.read(t)
		assert.Truef(t, err == nil && !a.ran(), "%s: %v, or the program ran", folder, err)
	}
}

func TestAGitThatIsTooOldIsRefused(t *testing.T) {
	a := hostile(t)
	a.bare(t)
	for _, version := range []string{"1.9.1", "2.17.1", "2.30.2", "2.37.7.windows.1", "nonsense"} {
		olderGit(t, version)
		err := a.read(t)
		assert.Truef(t, err != nil && strings.Contains(err.Error(), "install git 2.38 or later") && !a.ran(), "%s: %v, or the program ran", version, err)
	}
}

// Many large files that are small in the repository cost no more memory than one, and one above the
// limit costs nothing.
func TestAFileThatIsTooLargeIsNotRead(t *testing.T) {
	r := repository(t)
	put(t, "large.yaml", strings.Repeat("a", 1<<20))
	put(t, "small.yaml", "a")
	commit := commitAll(t)
	tree, err := r.Tree(t.Context(), commit)
	files := []File{tree["large.yaml"], tree["small.yaml"]}
	assert.Must(t, err == nil && len(tree) == 2, tree, err)
	assert.Error(r.Read(files[0], 1<<20-1))(t, "large.yaml: cannot read it: has 1048576 bytes, more than the 1048575 that are read")
	for i, size := range []int{1 << 20, 1, 1 << 20} {
		assert.Equal(t, len(assert.Value(r.Read(files[i%2], size))(t)), size)
	}
	r.objects.Process.Kill()
	r.objects.Wait()
	if _, err := r.Read(files[1], 1); err == nil {
		t.Error("an answer that did not arrive is one")
	}
}

// Worktrees, submodules, shallow clones, packed references and objects of SHA-256 are repositories
// like others.
func TestOtherLayoutsOfARepositoryAreRead(t *testing.T) {
	top := repository(t).top
	put(t, "a/b.yaml", "b\n")
	commit := commitAll(t)
	do(t, "pack-refs", "--all")
	folder := t.TempDir()
	do(t, "worktree", "add", "--quiet", "-b", "other", filepath.Join(folder, "tree"))
	do(t, "-c", "protocol.file.allow=always", "clone", "--quiet", "--depth=1", "file://"+top, filepath.Join(folder, "shallow"))
	do(t, "init", "--quiet", "--object-format=sha256", filepath.Join(folder, "sha256"))
	for _, name := range []string{"tree", "shallow", "sha256"} {
		t.Chdir(filepath.Join(folder, name))
		if name == "sha256" {
			put(t, "a/b.yaml", "b\n")
			commit = commitAll(t)
		}
		put(t, "a/b.yaml", "c\n")
		r := open(t)
		assert.Equal(t, assert.Value(r.Commit("HEAD"))(t), commit, name)
		assert.EqualSlices(t, pairs(assert.Value(r.Changes(t.Context(), commit, ""))(t)), []string{"a/b.yaml→a/b.yaml"}, name)
		f := assert.Value(r.Tree(t.Context(), commit))(t)["a/b.yaml"]
		assert.Equal(t, string(assert.Value(r.Read(f, 10))(t)), "b\n", name)
	}
}
