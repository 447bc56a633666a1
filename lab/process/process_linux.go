// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package process

import "syscall"

// attributes put the process into a group of its own and tie it to the thread that starts it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
