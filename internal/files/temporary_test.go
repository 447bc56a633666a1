// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package files

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// TestMain is the process that is killed, too: it makes a file and a folder, says so,
// and waits.
func TestMain(m *testing.M) {
	folder := os.Getenv("RKE_LM_TEMPORARY")
	if folder == "" {
		os.Exit(m.Run())
	}
	f, _, err := temporaryFile(folder)
	if err != nil {
		panic(err)
	}
	f.WriteString("password: of a document\n")
	if _, _, err := temporaryFolder(folder); err != nil {
		panic(err)
	}
	os.Stdout.WriteString("made\n")
	os.Stdin.Read(make([]byte, 1)) // no one writes
}

func TestWhatAKilledProcessLeavesIsRemovedAndNotBefore(t *testing.T) {
	folder := t.TempDir()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "RKE_LM_TEMPORARY="+folder)
	in := assert.Value(c.StdinPipe())(t)
	defer in.Close()
	out := assert.Value(c.StdoutPipe())(t)
	assert.NilError(t, c.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	assert.Must(t, line == "made\n", line, err)
	clean(folder)
	assert.Equal(t, entries(t, folder), 2, "of a process that is alive")
	assert.NilError(t, c.Process.Kill())
	c.Wait()
	clean(folder)
	assert.Equal(t, entries(t, folder), 0, "of a process that was killed")
}

func TestWhatIsHeldIsNotRemovedUntilItsRelease(t *testing.T) {
	folder := t.TempDir()
	f, held, err := temporaryFile(folder)
	assert.NilError(t, err)
	f.Close() // the lock is not that of the file that is written
	clean(folder)
	assert.Equal(t, entries(t, folder), 1, "while it is held")
	held.Close()
	clean(folder)
	assert.Equal(t, entries(t, folder), 0, "after its release")
}

func TestOnlyWhatThisPackageMakesIsRemoved(t *testing.T) {
	folder, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	assert.NilError(t, os.WriteFile(elsewhere, nil, 0o600))
	for _, name := range []string{"cluster.yaml", ".rke-lm.yaml", ".rke-lm-1.tmp.yaml", "rke-lm-1.tmp"} {
		assert.NilError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	assert.NilError(t, os.Symlink(elsewhere, filepath.Join(folder, ".rke-lm-1.tmp")))
	clean(folder)
	assert.Equal(t, entries(t, folder), 5)
	_, err := os.Stat(elsewhere)
	assert.True(t, err == nil, err)
}

// One run looks once: a folder may hold many clusters.
func TestAFolderIsCleanedOnceInARun(t *testing.T) {
	folder := t.TempDir()
	leave := func() {
		left, held, err := temporaryFolder(folder)
		assert.NilError(t, err)
		assert.Equal(t, assert.Value(os.Stat(left))(t).Mode().Perm(), 0o700, "others may enter")
		assert.NilError(t, os.WriteFile(filepath.Join(left, "kubeconfig"), nil, 0o600))
		held.Close()
	}
	leave()
	cleanOnce(folder)
	assert.Equal(t, entries(t, folder), 0, "at the first look")
	leave()
	t.Chdir(folder)
	cleanOnce(".")
	assert.Equal(t, entries(t, folder), 1, "at the second look")
	cleanOnce(filepath.Join(folder, "gone")) // which is no error
}

func TestATemporaryFolderIsRemovedWithWhatItHas(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	folder, remove, err := TemporaryFolder()
	assert.NilError(t, errors.Join(err, os.WriteFile(filepath.Join(folder, "kubeconfig"), nil, 0o600)))
	assert.Equal(t, entries(t, os.TempDir()), 1)
	remove()
	assert.Equal(t, entries(t, os.TempDir()), 0)
}

func TestWithoutAFolderNothingIsMade(t *testing.T) {
	removed := filepath.Join(t.TempDir(), "gone")
	f, held, err := temporaryFile(removed)
	assert.Truef(t, errors.Is(err, fs.ErrNotExist) && f == nil && held == nil, "%v %v", f, err)
	made, held, err := temporaryFolder(removed)
	assert.Truef(t, errors.Is(err, fs.ErrNotExist) && made == "" && held == nil, "%q %v", made, err)
}

// A name may be that of something else by the time that the lock is there.
func TestALockIsOfWhatHasTheNameNow(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".rke-lm-1.tmp")
	assert.NilError(t, os.WriteFile(path, nil, 0o600))
	f := assert.Value(openToLock(path))(t)
	err := os.Rename(path, path+".old")
	assert.Truef(t, err == nil && !same(f, path), "%v: what has no name any more is the same", err)
	err = os.WriteFile(path, nil, 0o600)
	assert.Truef(t, err == nil && !same(f, path), "%v: another file of the name is the same", err)
	f.Close()
	assert.True(t, !same(f, path), "a file that is closed is the same")
}

// Where something cannot be locked nothing removes it, so it may be used.
func TestWhatCannotBeLockedMayBeUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "link")
	assert.NilError(t, os.Symlink("elsewhere", path))
	held, is := acquire(path)
	assert.Truef(t, is && held == nil, "%v %t", held, is)
	taken := false
	for _, path := range []string{path, filepath.Join(t.TempDir(), "gone")} {
		reclaim(path, func(string) error { taken = true; return nil })
	}
	assert.True(t, !taken, "what is none of a killed run was taken")
}

func TestAFileThatACleanerRemovesFirstIsMadeAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gone")
	_, is := acquire(path)
	assert.True(t, !is, "what is not there is held")
}

func entries(t *testing.T, folder string) int {
	t.Helper()
	return len(assert.Value(os.ReadDir(folder))(t))
}
