// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
)

const old = "name: prod\r\nlast line without a break"

// make1 makes a file that holds the old text in a folder of its own.
func make1(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	assert.NilError(t, os.WriteFile(path, []byte(old), 0o644))
	return path
}

// look is what a caller knows of a file that it has read.
func listed(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	return assert.Value(os.Stat(path))(t)
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// never is a write that must not be reached.
func never(io.Writer) error { panic("write was called") }

func checkContent(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	assert.Truef(t, err == nil && string(got) == want, "%s holds %q, %v; want %q", path, got, err, want)
}

// checkAlone fails unless the file is the only one in its folder.
func checkAlone(t *testing.T, path string) {
	t.Helper()
	entries := assert.Value(os.ReadDir(filepath.Dir(path)))(t)
	for _, e := range entries {
		assert.Truef(t, e.Name() == filepath.Base(path), "%s was not removed", e.Name())
	}
}

func checkError(t *testing.T, err error, is error, holds ...string) {
	t.Helper()
	if err == nil || is != nil && !errors.Is(err, is) {
		t.Errorf("error %v is not %v", err, is)
		return
	}
	assert.ContainsAll(t, err.Error(), append(holds, "; ")) // what is wrong; what to do
	assert.Truef(t, !strings.Contains(err.Error(), ".tmp"), "error %q names the temporary file", err)
}

func TestAFileIsReplacedByteForByte(t *testing.T) {
	for _, content := range []string{"", "a", "a\r\nb\r\n", "\xef\xbb\xbfa\n", "\x00\xff\xfe", strings.Repeat("0123456789", 100_000)} {
		path := make1(t, "a.yaml")
		assert.NilError(t, Replace(path, listed(t, path), []byte(content)))
		checkContent(t, path, content)
		checkAlone(t, path)
	}
}

func TestAFileWithALongNameIsReplaced(t *testing.T) {
	path := make1(t, strings.Repeat("n", 255))
	assert.NilError(t, replace(path, listed(t, path), text("new")))
	checkContent(t, path, "new")
}

func TestAFileMayBeReplacedAgainAsItIsNow(t *testing.T) {
	path := make1(t, "a.yaml")
	for i := range 3 {
		assert.NilError(t, replace(path, listed(t, path), text(strings.Repeat("x", i))))
	}
	checkContent(t, path, "xx")
}

func TestAFileInTheCurrentFolderIsReplaced(t *testing.T) {
	path := make1(t, "a.yaml")
	t.Chdir(filepath.Dir(path))
	assert.NilError(t, replace("a.yaml", listed(t, path), text("new")))
	checkContent(t, path, "new")
	checkAlone(t, path)
}

func TestTheOldContentIsThereUntilTheNewIsComplete(t *testing.T) {
	path := make1(t, "a.yaml")
	err := replace(path, listed(t, path), func(w io.Writer) error {
		for range 100 {
			if _, err := w.Write(make([]byte, 10_000)); err != nil {
				return err
			}
			checkContent(t, path, old)
		}
		return nil
	})
	assert.NilError(t, err)
}

func TestTheTemporaryFileIsHiddenAndPrivate(t *testing.T) {
	path := make1(t, "a.yaml")
	err := replace(path, listed(t, path), func(io.Writer) error {
		entries, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(entries) != 2 {
			return fmt.Errorf("%v, %v", entries, err)
		}
		info, err := entries[0].Info()
		assert.Truef(t, err == nil && strings.HasPrefix(info.Name(), ".") && filepath.Ext(info.Name()) != ".yaml" && (info.Mode().Perm()&0o077 == 0 || os.PathSeparator != '/'), "%v %v, %v", info.Name(), info.Mode(), err)
		return nil
	})
	assert.NilError(t, err)
}

// faults are what may go wrong while the new content is written.
var faults = map[string]func(t *testing.T, path string, w io.Writer) error{
	"write fails at once": func(*testing.T, string, io.Writer) error { return errFull },
	"write fails midway": func(_ *testing.T, _ string, w io.Writer) error {
		w.Write(make([]byte, 1<<20))
		return errFull
	},
	"the disk is full": func(_ *testing.T, _ string, w io.Writer) error {
		_, err := io.MultiWriter(w, &fullWriter{room: 1000}).Write(make([]byte, 2000))
		return err
	},
	"the rename fails, for the temporary file is removed": func(t *testing.T, path string, w io.Writer) error {
		removeHidden(t, filepath.Dir(path))
		return nil
	},
}

func removeHidden(t *testing.T, folder string) {
	t.Helper()
	hidden, err := filepath.Glob(filepath.Join(folder, ".*"))
	assert.Mustf(t, err == nil && len(hidden) == 1, "hidden files: %q, %v", hidden, err)
	assert.NilError(t, os.Remove(hidden[0]))
}

func TestAfterAnErrorTheFileIsAsItWasAndAlone(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			path := make1(t, "a.yaml")
			seen := listed(t, path)
			err := replace(path, seen, func(w io.Writer) error { return fault(t, path, w) })
			assert.Truef(t, err != nil && strings.HasPrefix(err.Error(), path+": unchanged: "), "error: %v", err)
			checkContent(t, path, old)
			checkAlone(t, path)
			assert.NilError(t, Unchanged(path, seen))
		})
	}
}

func TestAfterAPanicTheFileIsAsItWasAndAlone(t *testing.T) {
	path := make1(t, "a.yaml")
	func() {
		defer func() {
			assert.Equal(t, recover(), "oh", "recovered")
		}()
		replace(path, listed(t, path), func(w io.Writer) error {
			w.Write(make([]byte, 1<<20))
			panic("oh")
		})
	}()
	checkContent(t, path, old)
	checkAlone(t, path)
}

func TestAFolderThatIsRemovedMeanwhileIsAnError(t *testing.T) {
	path := make1(t, "a.yaml")
	err := replace(path, listed(t, path), func(io.Writer) error { return os.RemoveAll(filepath.Dir(path)) })
	assert.True(t, err != nil, "no error")
}

func TestAFolderInThePlaceOfTheFileIsRefused(t *testing.T) {
	path := make1(t, "a.yaml")
	seen := listed(t, path)
	swap := func(io.Writer) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) }
	checkError(t, replace(path, seen, swap), ErrChanged, path)
	checkAlone(t, path)
	checkError(t, replace(path, seen, never), nil, path, "not a regular file")
	checkAlone(t, path)
}

// changes are what others may do to a file.
var changes = map[string]func(path string) error{
	"longer":                        func(path string) error { return os.WriteFile(path, []byte(old+"\n"), 0o644) },
	"the same size at another time": func(path string) error { return os.Chtimes(path, time.Time{}, time.Unix(1, 1)) },
	"another file of the same size and time": func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return errors.Join(
			os.WriteFile(path+".new", []byte(strings.ToUpper(old)), 0o644),
			os.Chtimes(path+".new", time.Time{}, info.ModTime()),
			os.Rename(path+".new", path))
	},
	"removed": os.Remove,
}

func TestAFileThatChangedSinceItWasReadIsRefused(t *testing.T) {
	for name, change := range changes {
		for _, before := range []bool{true, false} { // or while it is replaced
			path := make1(t, "a.yaml")
			seen := listed(t, path)
			var now []byte
			write := func(io.Writer) error {
				err := change(path)
				now, _ = os.ReadFile(path)
				return err
			}
			if before {
				assert.NilError(t, write(nil))
				write = never
			}
			checkError(t, replace(path, seen, write), ErrChanged, path, "run the command again")
			checkAlone(t, path)
			left, _ := os.ReadFile(path)
			assert.Equal(t, string(left), string(now), name, before)
		}
	}
}

func TestAFileThatWasNeverSeenIsRefused(t *testing.T) {
	path := make1(t, "a.yaml")
	checkError(t, replace(path, nil, never), ErrChanged, path)
	checkContent(t, path, old)
}

func TestAReadOnlyFileIsRefused(t *testing.T) {
	path := make1(t, "a.yaml")
	assert.NilError(t, os.Chmod(path, 0o444))
	checkError(t, replace(path, listed(t, path), never), fs.ErrPermission, path, "read-only", "chmod u+w")
	checkContent(t, path, old)
	checkAlone(t, path)
}

var errFull = errors.New("no space left on device")

// fullWriter is a disk with little room.
type fullWriter struct{ room int }

func (w *fullWriter) Write(p []byte) (int, error) {
	if len(p) > w.room {
		return w.room, errFull
	}
	w.room -= len(p)
	return len(p), nil
}

func TestAFileIsUnchangedOnlyAsItWasSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	assert.NilError(t, os.WriteFile(path, []byte("before"), 0o600))
	seen := assert.Value(os.Stat(path))(t)
	assert.NilError(t, Unchanged(path, seen))
	for _, c := range []struct {
		name   string
		change func() error
	}{
		{"another time", func() error { return os.Chtimes(path, time.Time{}, seen.ModTime().Add(time.Second)) }},
		{"another size", func() error {
			return errors.Join(os.WriteFile(path, []byte("after!!"), 0o600), os.Chtimes(path, time.Time{}, seen.ModTime()))
		}},
		{"another file", func() error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, []byte("before"), 0o600), os.Chtimes(path, time.Time{}, seen.ModTime()))
		}},
	} {
		assert.NilError(t, c.change())
		err := Unchanged(path, seen)
		assert.Truef(t, errors.Is(err, ErrChanged) && strings.HasSuffix(err.Error(), "; run the command again"), "%s: %v", c.name, err)
	}
	err := Unchanged(path, nil)
	assert.Truef(t, errors.Is(err, ErrChanged), "what was never seen is unchanged: %v", err)
	err = Unchanged(path+".gone", seen)
	assert.True(t, errors.Is(err, ErrChanged) && strings.Contains(err.Error(), "the file does not exist"), err)
}
