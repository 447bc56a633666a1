// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package files

import "io/fs"

// identity is empty where files have neither inodes nor numbered owners.
type identity struct {
	links    uint64
	uid, gid int
}

func identify(fs.FileInfo) identity { return identity{links: 1} }
