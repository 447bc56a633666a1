// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"os"
	"path/filepath"
)

// Top returns the top of the repository around an absolute folder; false for none. It does not
// need git: a repository is seen by its .git, which is a file in a worktree.
func Top(folder string) (string, bool) {
	for dir := folder; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, true
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
	}
}
