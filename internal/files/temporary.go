// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

const (
	pattern = ".rke-lm-*.tmp"
	// tries is how often a cleaner may be quicker than the one who makes a file.
	tries = 10
)

var errTaken = errors.New("another process removes the new file")

// TemporaryFolder makes a folder for the user alone, and returns what removes it.
func TemporaryFolder() (folder string, remove func(), err error) {
	cleanOnce(os.TempDir())
	folder, held, err := temporaryFolder(os.TempDir())
	return folder, func() {
		os.RemoveAll(folder)
		held.Close()
	}, err
}

// temporaryFile makes a file in a folder. It may be removed once the second file is closed.
func temporaryFile(folder string) (f, held *os.File, err error) {
	for range tries {
		if f, err = os.CreateTemp(folder, pattern); err != nil {
			return nil, nil, err
		}
		if held, is := acquire(f.Name()); is {
			return f, held, nil
		}
		f.Close()
	}
	return nil, nil, &fs.PathError{Op: "createtemp", Path: folder, Err: errTaken}
}

// temporaryFolder makes a folder in another one, for the user alone. It may be removed once the file is closed.
func temporaryFolder(parent string) (string, *os.File, error) {
	for range tries {
		made, err := os.MkdirTemp(parent, pattern)
		if err != nil {
			return "", nil, err
		}
		if held, is := acquire(made); is {
			return made, held, nil
		}
	}
	return "", nil, &fs.PathError{Op: "mkdirtemp", Path: parent, Err: errTaken}
}

// acquire locks a file or a folder that this process has made, until what it returns is closed; false where a cleaner
// has removed it before. Where the system has no locks it returns no file, and no one removes anything.
func acquire(path string) (*os.File, bool) {
	f, err := openToLock(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	if err != nil || lock(f) != nil {
		f.Close() // of no file, it does nothing
		return nil, true
	}
	if !same(f, path) {
		f.Close()
		return nil, false
	}
	return f, true
}

// cleaned are the folders that this run has looked at: one may hold many clusters.
var cleaned sync.Map

// cleanOnce removes from a folder what killed runs of this user have left there. It looks
// once in a run.
func cleanOnce(folder string) {
	if real, err := filepath.Abs(folder); err == nil {
		if _, before := cleaned.LoadOrStore(real, true); before {
			return
		}
	}
	clean(folder)
}

func clean(folder string) {
	names, _ := fs.Glob(os.DirFS(folder), pattern)
	for _, name := range names {
		reclaim(filepath.Join(folder, name), os.RemoveAll)
	}
}

// reclaim does something with what a killed run has left, and nothing with what a
// living process holds.
func reclaim(path string, do func(path string) error) {
	info, err := os.Lstat(path)
	if err != nil || !(info.Mode().IsRegular() || info.IsDir()) || identify(info).uid != os.Geteuid() {
		return
	}
	f, err := openToLock(path)
	if err != nil {
		return
	}
	defer f.Close()
	if tryLock(f) == nil && same(f, path) {
		do(path)
	}
}

// same reports whether a path still leads to an open file.
func same(f *os.File, path string) bool {
	opened, _ := f.Stat() // nil for an error, which is no file
	there, _ := os.Lstat(path)
	return os.SameFile(opened, there)
}
