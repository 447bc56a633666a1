// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"fmt"
	"io/fs"
	"time"

	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// ErrChanged means that a file is not the one that was read.
var ErrChanged = exitcode.New(exitcode.Refused, "has changed since it was read")

// Version is what a file looked like when it was read. The zero Version matches no
// file.
type Version struct {
	device, inode uint64
	size          int64
	modified      time.Time
}

// See notes what a file looks like. Take info from the open file before the
// first byte is read, so that a change while reading shows as well.
func See(info fs.FileInfo) Version {
	id := identify(info)
	return Version{device: id.device, inode: id.inode, size: info.Size(), modified: info.ModTime()}
}

// Unchanged refuses, with an error that wraps [ErrChanged], a file that is not as it was seen.
func Unchanged(path string, seen Version) error {
	t, err := resolve(path)
	if err != nil {
		return err
	}
	return seen.check(path, t.info)
}

func (s Version) check(path string, info fs.FileInfo) error {
	now := See(info)
	same := now.modified.Equal(s.modified)
	now.modified = s.modified
	if same && now == s {
		return nil
	}
	return fmt.Errorf("%s: %w; run the command again", path, ErrChanged)
}
