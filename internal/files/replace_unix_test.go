// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func link(t *testing.T, target, name string) {
	t.Helper()
	assert.NilError(t, os.Symlink(target, name))
}

// checkLink fails unless name is still a link to target.
func checkLink(t *testing.T, name, target string) {
	t.Helper()
	got, err := os.Readlink(name)
	assert.Truef(t, err == nil && got == target, "%s leads to %q, %v; want %q", name, got, err, target)
}

func TestALinkStaysAndItsTargetIsReplaced(t *testing.T) {
	path := make1(t, "a.yaml")
	at := t.TempDir()
	near := assert.Value(filepath.Rel(at, path))(t)
	absolute, relative, chain := filepath.Join(at, "absolute"), filepath.Join(at, "relative"), filepath.Join(at, "chain")
	link(t, path, absolute)
	link(t, near, relative)
	link(t, "relative", chain)
	for i, name := range []string{absolute, relative, chain} {
		content := strings.Repeat("new", i+1)
		assert.NilError(t, replace(name, listed(t, name), text(content)))
		checkContent(t, path, content)
		checkContent(t, name, content)
		checkAlone(t, path)
	}
	checkLink(t, absolute, path)
	checkLink(t, relative, near)
	checkLink(t, chain, "relative")
	entries, _ := os.ReadDir(at)
	assert.Truef(t, len(entries) == 3, "next to the links: %v", entries)
}

func TestAFileInALinkedFolderIsReplaced(t *testing.T) {
	path := make1(t, "a.yaml")
	at := filepath.Join(t.TempDir(), "folder")
	link(t, filepath.Dir(path), at)
	assert.NilError(t, replace(filepath.Join(at, "a.yaml"), listed(t, path), text("new")))
	checkContent(t, path, "new")
	checkLink(t, at, filepath.Dir(path))
}

func TestALinkToNothingIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	link(t, "nowhere.yaml", path)
	checkError(t, replace(path, nil, never), ErrChanged, path, "the file does not exist, or it is a link to a file that does not exist; check the path and run the command again")
	checkLink(t, path, "nowhere.yaml")
	checkAlone(t, path)
}

func TestALinkToItselfIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	link(t, "a.yaml", path)
	checkError(t, replace(path, nil, never), nil, path, "links")
	checkAlone(t, path)
}

func TestALinkThatIsChangedMeanwhileIsRefused(t *testing.T) {
	path, other := make1(t, "a.yaml"), make1(t, "b.yaml")
	name := filepath.Join(t.TempDir(), "link")
	link(t, path, name)
	err := replace(name, listed(t, name), func(w io.Writer) error {
		return errors.Join(os.Remove(name), os.Symlink(other, name))
	})
	checkError(t, err, ErrChanged, name)
	checkContent(t, path, old)
	checkContent(t, other, old)
	checkAlone(t, path)
}

func TestAFileWithSeveralNamesIsRefused(t *testing.T) {
	path := make1(t, "a.yaml")
	second := filepath.Join(t.TempDir(), "b.yaml")
	assert.NilError(t, os.Link(path, second))
	checkError(t, replace(path, listed(t, path), never), nil, path, "2 names (hard links)")
	checkContent(t, second, old)
	checkAlone(t, path)
}

func TestTheModeIsKeptWhateverTheUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	for _, mode := range []fs.FileMode{0o600, 0o640, 0o644, 0o666, 0o200, 0o755, 0o777 | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky} {
		path := make1(t, "a.yaml")
		assert.NilError(t, os.Chmod(path, mode))
		assert.NilError(t, replace(path, listed(t, path), text("new")))
		info, err := os.Stat(path)
		assert.Truef(t, err == nil && info.Mode() == mode, "mode %v became %v, %v", mode, info.Mode(), err)
	}
}

func TestAPipeIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	assert.NilError(t, syscall.Mkfifo(path, 0o644))
	checkError(t, replace(path, listed(t, path), never), nil, path, "not a regular file")
}

// The owner can only be another one for root.
func TestTheOwnerIsKept(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root makes files of others")
	}
	path := make1(t, "a.yaml")
	assert.NilError(t, os.Chown(path, 1234, 5678))
	assert.NilError(t, os.Chmod(path, 0o640|fs.ModeSetgid)) // lost if set before the owner
	assert.NilError(t, replace(path, listed(t, path), text("new")))
	info := assert.Value(os.Stat(path))(t)
	id := identify(info)
	assert.Truef(t, id.uid == 1234 && id.gid == 5678 && info.Mode() == 0o640|fs.ModeSetgid, "the file is now %v of %d:%d", info.Mode(), id.uid, id.gid)
}

// A path means what the system makes of it: link/.. is above the target of the link, and what is missing lies where it would be made.
func TestLinksOfAPathAreFollowed(t *testing.T) {
	top := Real(t.TempDir())
	t.Chdir(top)
	assert.NilError(t, errors.Join(os.MkdirAll("a/b", 0o700), os.Symlink("a/b", "link")))
	for path, want := range map[string]string{
		"link": "a/b", "link/..": "a", "link/../new": "a/new", "link/new/c": "a/b/new/c", ".": "", "link/": "a/b", top + "/link/x/": "a/b/x",
	} {
		assert.Equal(t, Real(path), filepath.Join(top, want), path)
	}
	assert.Equal(t, Real("/"), "/")
	t.Chdir("link") // as a shell, which says so in PWD
	assert.Equal(t, Real("../c"), filepath.Join(top, "a/c"))
}
