// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package conduct

import "syscall"

// tied keeps a program as it is: only Linux ends it with us.
func tied() *syscall.SysProcAttr { return nil }
