// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rke-lm/rke-lm/internal/git"
)

// start is the folder of a repository in which a plan was made: its commands run there in every
// clone. The zero start is for files outside of a repository, which have absolute paths.
type start struct{ top, folder string }

// newStart finds it for a plan folder and the files of the plan, "" for a stream.
func newStart(out string, files []string) (start, error) {
	here, err := os.Getwd()
	if err != nil {
		return start{}, err
	}
	top, real := git.Top(here)
	if up, err := filepath.Rel(real, top); err == nil && top != "" {
		top = filepath.Join(here, up) // as the folder is called
	}
	if top == "" || !isBelow(top, out) {
		return start{}, nil
	}
	for _, f := range files {
		if f != "" && !isBelow(top, f) {
			return start{}, nil
		}
	}
	return start{top, here}, nil
}

// isBelow reports whether an absolute path is in a folder.
func isBelow(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// path is how a command names a file.
func (s start) path(absolute string) string {
	if s.top == "" {
		return absolute
	}
	rel, err := filepath.Rel(s.folder, absolute)
	if err != nil {
		return absolute
	}
	return filepath.ToSlash(rel)
}

// name is how a person finds the folder; "" for the zero start.
func (s start) name() string {
	rel, err := filepath.Rel(s.top, s.folder)
	switch {
	case s.top == "" || err != nil:
		return ""
	case rel == ".":
		return "the top folder of the repository"
	}
	return "the folder " + filepath.ToSlash(rel) + " of the repository"
}
