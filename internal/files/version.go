// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/rke-lm/rke-lm/transform"
)

// ErrChanged means that a file is not the one that was read.
var ErrChanged = transform.NewError(transform.ExitRefused, "has changed since it was read")

// Unchanged refuses, with an error that wraps [ErrChanged], a file that is not as it was seen; nil is no file. Take what is
// seen from the open file before the first byte is read, so that a change while reading shows as well.
func Unchanged(path string, seen fs.FileInfo) error {
	t, err := resolve(path)
	if err != nil {
		return err
	}
	return t.unchanged(seen)
}

func (t target) unchanged(seen fs.FileInfo) error {
	if os.SameFile(seen, t.info) && seen.Size() == t.info.Size() && seen.ModTime().Equal(t.info.ModTime()) {
		return nil
	}
	return fmt.Errorf("%s: %w; run the command again", t.path, ErrChanged)
}
