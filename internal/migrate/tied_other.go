// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package migrate

import (
	"syscall"
	"time"
)

// outlives is for how long a helm may outlive the run that started it: as long as it
// waits for anything, unless set otherwise.
const outlives = 5 * time.Minute

// tied keeps a program as it is: only Linux ends it with us.
func tied() *syscall.SysProcAttr { return nil }
