// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"os"
	"path/filepath"
)

// Top returns the top of the repository around a folder, "" for none, and the folder without links. It
// does not need git: a repository is seen by its .git, which is a file in a worktree.
func Top(folder string) (top, real string) {
	if at, err := filepath.Abs(folder); err == nil {
		folder = at
	}
	if at, err := filepath.EvalSymlinks(folder); err == nil {
		folder = at
	}
	for dir := folder; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, folder
		}
		if dir == filepath.Dir(dir) {
			return "", folder
		}
	}
}
