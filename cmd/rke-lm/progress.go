// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"

	"github.com/rke-lm/rke-lm/internal/report"
)

// withProgress shows how far long work has come, if standard error is a terminal that can
// remove a line. A program that reads standard output through a pipe, such as a pager, may
// draw on the same terminal: then nothing is shown.
func (s streams) withProgress(getenv func(string) string) streams {
	terminal := s.err
	if !isTerminal(terminal) || getenv("TERM") == "dumb" || isPipe(s.out) {
		return s
	}
	s.progress = report.NewProgress(terminal, func() int { return width(terminal) })
	s.err = s.progress.Over(s.err)
	if isTerminal(s.out) {
		s.out = s.progress.Over(s.out)
	}
	return s
}

func isPipe(of any) bool {
	f, is := of.(*os.File)
	if !is {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeNamedPipe != 0
}
