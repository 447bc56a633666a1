// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

const (
	prefix, suffix = ".rke-lm-", ".tmp"
	// Pattern is how the names are made.
	Pattern = prefix + "*" + suffix
	// tries is how often a cleaner may be quicker than the one who makes a file.
	tries = 10
)

var errTaken = errors.New("another process removes the new file")

// Lock means that its process is alive.
type Lock struct{ held *os.File }

// Release ends it; what is locked may be removed from now on.
func (l Lock) Release() { l.held.Close() } // of no file, it does nothing

// TemporaryFile makes a file in a folder.
func TemporaryFile(folder string) (*os.File, Lock, error) {
	for range tries {
		f, err := os.CreateTemp(folder, Pattern)
		if err != nil {
			return nil, Lock{}, err
		}
		if l, is := Hold(f.Name()); is {
			return f, l, nil
		}
		f.Close()
	}
	return nil, Lock{}, &fs.PathError{Op: "createtemp", Path: folder, Err: errTaken}
}

// TemporaryFolder makes a folder in another one, for the user alone.
func TemporaryFolder(parent string) (string, Lock, error) {
	for range tries {
		made, err := os.MkdirTemp(parent, Pattern)
		if err != nil {
			return "", Lock{}, err
		}
		if l, is := Hold(made); is {
			return made, l, nil
		}
	}
	return "", Lock{}, &fs.PathError{Op: "mkdirtemp", Path: parent, Err: errTaken}
}

// Hold locks a file or a folder that this process has made; false where a cleaner
// has removed it before. Where the system has no locks no one removes anything.
func Hold(path string) (Lock, bool) {
	f, err := openToLock(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Lock{}, false
	}
	if err != nil || lock(f) != nil {
		f.Close() // of no file, it does nothing
		return Lock{}, true
	}
	if !same(f, path) {
		f.Close()
		return Lock{}, false
	}
	return Lock{f}, true
}

// cleaned are the folders that this run has looked at: one may hold many clusters.
var cleaned sync.Map

// Clean removes from a folder what killed runs of this user have left there. It looks
// once in a run.
func Clean(folder string) {
	if real, err := filepath.Abs(folder); err == nil {
		if _, before := cleaned.LoadOrStore(real, true); before {
			return
		}
	}
	clean(folder)
}

func clean(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), suffix) {
			Take(filepath.Join(folder, e.Name()), os.RemoveAll)
		}
	}
}

// Take does something with what a killed run has left, and nothing with what a
// living process holds.
func Take(path string, do func(path string) error) {
	info, err := os.Lstat(path)
	if err != nil || !(info.Mode().IsRegular() || info.IsDir()) || !own(info) {
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
