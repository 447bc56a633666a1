// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package files

import (
	"errors"
	"os"
)

func openToLock(path string) (*os.File, error) { return os.Open(path) }

func lock(*os.File) error { return errors.ErrUnsupported }

func tryLock(*os.File) error { return errors.ErrUnsupported }
