// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"syscall"
)

// accessList is the attribute that holds a POSIX access control list.
const accessList = "system.posix_acl_access"

// copyAccessList gives the file to the access list of from, or takes away the
// one it got from its folder. Without that, a mode that is kept would grant
// more: next to a list, its group bits are only the list's mask.
func copyAccessList(from, to string) error {
	list := make([]byte, 64<<10) // the largest attribute there can be
	n, err := syscall.Getxattr(from, accessList, list)
	if err == nil {
		return syscall.Setxattr(to, accessList, list[:n], 0)
	}
	if none(err) {
		err = syscall.Removexattr(to, accessList)
	}
	if none(err) {
		return nil
	}
	return err
}

// none reports whether there is no list, or can be none.
func none(err error) bool {
	return errors.Is(err, syscall.ENODATA) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOSYS)
}
