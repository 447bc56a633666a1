// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Covers returns the first path whose search would enter the given folder, which
// need not be there yet.
func Covers(paths []string, folder string) (path string, covered bool) {
	inner := futurePath(folder)
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil || !info.IsDir() {
			continue
		}
		if rel, err := filepath.Rel(realPath(p), inner); err == nil && entered(rel) {
			return p, true
		}
	}
	return "", false
}

// entered reports whether a search enters a folder: it stays
// below its start and meets nothing hidden.
func entered(rel string) bool {
	hidden := func(part string) bool { return strings.HasPrefix(part, ".") }
	return rel == "." || !slices.ContainsFunc(strings.Split(rel, string(filepath.Separator)), hidden)
}

// futurePath is realPath for a file or folder that may have yet to be made.
func futurePath(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	missing := ""
	for at := abs; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); err == nil {
			return filepath.Join(realPath(at), missing)
		}
		if at == filepath.Dir(at) {
			return abs
		}
		missing = filepath.Join(filepath.Base(at), missing)
	}
}

// Absolute returns the absolute path of a file, or of what was one, and "" for a stream, and without a working folder.
func (s Source) Absolute() string {
	if !s.IsFile() {
		return s.at
	}
	at, _ := filepath.Abs(s.Path)
	return at
}
