// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package source

import (
	"errors"
	"io/fs"
	"net"
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

func TestLinksToFilesAreFollowedAndLinksToFoldersAreNot(t *testing.T) {
	tree(t, "in/a.yaml", "out/b.yaml", "out/c.txt", "out/sub/d.yaml")
	link(t, "../out/b.yaml", "in/link.yaml")
	link(t, "../out/c.txt", "in/text.yaml") // what counts is the link's own name
	link(t, "../out/sub", "in/folder")
	link(t, "../out/sub", "in/folder.yaml")
	link(t, ".", "in/loop.d")
	checkFound(t, []string{"in"}, "in/a.yaml", "in/link.yaml", "in/text.yaml")
}

func TestALinkToAFolderIsEnteredWhenNamed(t *testing.T) {
	tree(t, "real/a.yaml", "real/sub/b.yaml")
	link(t, "real", "link")
	checkFound(t, []string{"link"}, "link/a.yaml", "link/sub/b.yaml")
	checkFound(t, []string{"link", "real"}, "link/a.yaml", "link/sub/b.yaml")
}

func TestAFileReachedThroughALinkIsFoundOnce(t *testing.T) {
	tree(t, "real.yaml", "sub/x.yaml")
	link(t, "real.yaml", "link.yaml")
	link(t, "link.yaml", "twice.yaml")
	checkFound(t, []string{"."}, "link.yaml", "sub/x.yaml")
	checkFound(t, []string{"real.yaml", "twice.yaml", "."}, "!real.yaml", "sub/x.yaml")
}

func TestFilesMountedFromAConfigMapAreFoundOnce(t *testing.T) {
	tree(t, "..2024/a.yaml")
	link(t, "..2024", "..data")
	link(t, "..data/a.yaml", "a.yaml")
	checkFound(t, []string{"."}, "a.yaml")
}

func TestALinkToNothingInAFolderFailsWhenRead(t *testing.T) {
	tree(t, "b.yaml")
	link(t, "nowhere", "a.yaml")
	checkFound(t, []string{"."}, "a.yaml", "b.yaml")
	_, _, err := documents(Source{Name: "a.yaml", Path: "a.yaml"})
	assert.Truef(t, errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(err.Error(), "a.yaml: "), "error: %v", err)
}

func TestALinkToNothingIsAnErrorWhenNamed(t *testing.T) {
	tree(t)
	link(t, "nowhere", "a.yaml")
	link(t, "loop.yaml", "loop.yaml")
	checkRefused(t, "a.yaml", "no such file or folder")
	checkRefused(t, "loop.yaml", "cannot read it")
}

func TestWhatIsNoFileIsRefusedWhenNamedAndSkippedInAFolder(t *testing.T) {
	tree(t, "a.yaml")
	assert.NilError(t, syscall.Mkfifo("pipe.yaml", 0o644))
	socket := assert.Value(net.Listen("unix", "socket.yaml"))(t)
	defer socket.Close()
	link(t, "pipe.yaml", "link.yaml")
	link(t, os.DevNull, "null.yaml")

	checkFound(t, []string{"."}, "a.yaml")
	checkRefused(t, "pipe.yaml", "is a pipe", "use -")
	checkRefused(t, "link.yaml", "is a pipe")
	checkRefused(t, "socket.yaml", "is a socket")
	checkRefused(t, os.DevNull, "is a device")
}

func TestAFolderThatCannotBeReadDoesNotHideTheOthers(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads every folder")
	}
	tree(t, "a.yaml", "closed/b.yaml", "z.yaml")
	assert.NilError(t, os.Chmod("closed", 0))
	defer os.Chmod("closed", 0o755)
	found, err := Find([]string{"."}, nil, Excluded{})
	assert.Truef(t, errors.Is(err, fs.ErrPermission) && strings.Contains(err.Error(), "closed: cannot be read") && len(found) == 2, "found %q, error %v", names(found), err)
}

func TestAFileThatMayNotBeReadIsAnErrorWithItsName(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads every file")
	}
	path := write(t, t.TempDir(), "a.yaml", "")
	assert.NilError(t, os.Chmod(path, 0))
	_, _, err := documents(Source{Name: "a", Path: filepath.Clean(path)})
	assert.Truef(t, errors.Is(err, fs.ErrPermission) && strings.HasPrefix(err.Error(), "a: "), "error: %v", err)
}
