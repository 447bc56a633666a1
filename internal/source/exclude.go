// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Excluded are patterns of files and folders that are left out.
type Excluded struct {
	globs []string
	from  string // the folder, as an absolute path
}

// Exclude checks patterns. One without a slash is for a name in any folder, others are for paths as
// seen from a folder, in which ** is for any number of folders.
func Exclude(from string, globs []string) (e Excluded, err error) {
	if len(globs) == 0 {
		return e, nil
	}
	if e.from, err = filepath.Abs(from); err != nil {
		return e, err
	}
	for _, glob := range globs {
		if glob == "" || !doublestar.ValidatePattern(glob) {
			return e, fmt.Errorf("%q is not a pattern; use one such as values*.yaml, charts or clusters/**/test", glob)
		}
		clean := path.Clean(glob)
		if !strings.Contains(clean, "/") && !strings.HasPrefix(glob, "./") {
			clean = "**/" + clean
		}
		e.globs = append(e.globs, clean)
	}
	return e, nil
}

// Has reports whether a file or folder, or a folder that it is in, is left out.
func (e Excluded) Has(name string) bool { return e.By(name) != "" }

// By is the pattern that leaves out a file or folder, or a folder that it is in; "" for none.
func (e Excluded) By(name string) string {
	absolute, err := filepath.Abs(name)
	if len(e.globs) == 0 || err != nil {
		return ""
	}
	for at := absolute; ; at = filepath.Dir(at) {
		if by := e.matching(at); by != "" || at == filepath.Dir(at) || at == e.from {
			return strings.TrimPrefix(by, "**/")
		}
	}
}

// matching compares a path as seen from the folder of the patterns, and as it is.
func (e Excluded) matching(at string) string {
	whole := filepath.ToSlash(at)
	seen := whole
	if rel, err := filepath.Rel(e.from, at); err == nil {
		seen = filepath.ToSlash(rel)
	}
	for _, glob := range e.globs {
		if doublestar.MatchUnvalidated(glob, seen) || path.IsAbs(glob) && doublestar.MatchUnvalidated(glob, whole) {
			return glob
		}
	}
	return ""
}
