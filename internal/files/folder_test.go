// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// fault is that of a disk that fails at one operation, and after a power cut at all that follow. What it fails to write
// is there by half.
type fault struct {
	left int // operations that work
	cut  bool
	met  bool
}

func (f *fault) fails() bool {
	f.left--
	failed := f.left == -1 || f.left < 0 && f.cut
	f.met = f.met || failed
	return failed
}

// unless does an operation unless it fails.
func (f *fault) unless(do func() error) error {
	if f.fails() {
		return errFull
	}
	return do()
}

func (f *fault) disk() disk {
	return disk{
		makeFolders: func(path string, mode fs.FileMode) error {
			return f.unless(func() error { return os.MkdirAll(path, mode) })
		},
		makeTemporary: func(parent string) (made string, held *os.File, err error) {
			err = f.unless(func() error { made, held, err = temporaryFolder(parent); return err })
			return made, held, err
		},
		writeFile: func(path, content string) error {
			if f.fails() {
				return errors.Join(errFull, writeFile(path, content[:len(content)/2]))
			}
			return writeFile(path, content)
		},
		rename: func(from, to string) error { return f.unless(func() error { return os.Rename(from, to) }) },
		remove: func(path string) error { return f.unless(func() error { return os.RemoveAll(path) }) },
		sync:   func(folder string) error { return f.unless(func() error { return syncFolder(folder) }) },
	}
}

// version returns the files of a version of a folder.
func version(n int) []action.File {
	return []action.File{{Name: fmt.Sprintf("%d.diff", n), Content: "a difference"}, {Name: "runbook.md", Content: fmt.Sprintf("the steps of version %d", n)}}
}

// filesIn returns the files of a folder; none if it is not there.
func filesIn(t *testing.T, folder string) []action.File {
	t.Helper()
	list, _ := os.ReadDir(folder)
	return lists.Map(list, func(e os.DirEntry) action.File {
		return action.File{Name: e.Name(), Content: string(assert.Value(os.ReadFile(filepath.Join(folder, e.Name())))(t))}
	})
}

func hiddenNextTo(path string) []string {
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	return found
}

// TestAFolderIsCompleteOrNotThere fails at every operation in turn, with an old version in the folder and without one.
func TestAFolderIsCompleteOrNotThere(t *testing.T) {
	for _, cut := range []bool{false, true} {
		for _, exists := range []bool{false, true} {
			for n := 0; ; n++ {
				f := &fault{left: n, cut: cut}
				t.Run(fmt.Sprintf("power cut %v, old version %v, operation %d", cut, exists, n), func(t *testing.T) {
					replaceWith(t, f, exists)
				})
				if !f.met {
					break
				}
			}
		}
	}
}

func replaceWith(t *testing.T, f *fault, exists bool) {
	path := filepath.Join(t.TempDir(), "plans [1]", "harbour")
	if exists {
		assert.NilError(t, ReplaceFolder(path, version(1), false))
	}
	want := filesIn(t, path)
	err := f.disk().replaceFolder(path, version(2), exists)
	if err == nil {
		want = version(2)
	} else {
		assert.True(t, errors.Is(err, errFull), err)
	}
	if is := filesIn(t, path); !f.cut || err == nil || is != nil {
		assert.DeepEqual(t, is, want, err)
	}
	left := hiddenNextTo(path)
	assert.Truef(t, len(left) == 0 || f.met && (err == nil || f.cut), "not removed: %v", left)
	RestoreFolders(filepath.Dir(path), func(string) (string, error) { return "harbour", nil })
	assert.DeepEqual(t, filesIn(t, path), want, "of the next run")
	left = hiddenNextTo(path)
	assert.Truef(t, len(left) == 0, "not removed by the next run: %v", left)
}

func TestALostRaceForTheFolderIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "harbour")
	theirs := []action.File{{Name: "theirs", Content: "their text"}}
	d := realDisk
	d.rename = func(from, to string) error {
		return errors.Join(ReplaceFolder(path, theirs, false), os.Rename(from, to))
	}
	err := d.replaceFolder(path, version(2), false)
	assert.True(t, err != nil, "no error")
	assert.DeepEqual(t, filesIn(t, path), theirs)
	left := hiddenNextTo(path)
	assert.Truef(t, len(left) == 0, "not removed: %v", left)
}

func TestAFolderOfNoKnownNameIsRemoved(t *testing.T) {
	old := filepath.Join(t.TempDir(), ".rke-lm-1.tmp"+oldSuffix)
	assert.NilError(t, ReplaceFolder(old, version(1), false))
	RestoreFolders(filepath.Dir(old), func(string) (string, error) { return "harbour", errFull })
	assert.Equal(t, len(hiddenNextTo(old)), 0)
}
