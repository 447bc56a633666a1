// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rke-lm/rke-lm/internal/git"
)

// Here returns the configuration file that counts in the current folder, from there: that of the folder, or of
// the nearest one around it up to the top of its repository; "" for none. Outside of a
// repository only the folder itself counts. A file in the home folder never does, whatever
// is below it: it would change what a plan of any repository means.
func Here() (string, error) {
	home, _ := os.UserHomeDir()
	top, here := git.Top(".")
	top = cmp.Or(top, here)
	for dir := here; ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, Name)
		_, err := os.Lstat(path) // a link is refused when it is read
		switch {
		case err == nil && !sameFolder(dir, home):
			return filepath.Rel(here, path)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", err
		case dir == top || dir == filepath.Dir(dir):
			return "", nil
		}
	}
}

func sameFolder(a, b string) bool {
	is, _ := os.Stat(a) // nil for an error, which is no file
	other, _ := os.Stat(b)
	return os.SameFile(is, other)
}
