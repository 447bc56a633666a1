// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import "syscall"

// outlives is for how long a helm may outlive the run that started it.
const outlives = 0

// tied lets a program end with us, and keeps the interrupts of a terminal from it.
func tied() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
