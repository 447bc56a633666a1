// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package files

import (
	"io/fs"
	"syscall"
)

// identity is what a Unix file system knows of a file apart from fs.FileInfo.
type identity struct {
	links    uint64
	uid, gid int
}

func identify(info fs.FileInfo) identity {
	s := info.Sys().(*syscall.Stat_t) // that of the os package
	// They are of other sizes elsewhere.
	return identity{links: uint64(s.Nlink), uid: int(s.Uid), gid: int(s.Gid)}
}
