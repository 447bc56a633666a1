// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Command rke-lm takes a Rancher cluster off the in-tree AWS cloud provider,
// stage by stage.
//
// Invariant: cmd wires. What a verb decides is in transform, what it reads and
// writes goes through internal, and only main ends the process.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
)

// streams are the standard streams of one run.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, s streams) int {
	out := &standardOutput{Writer: s.out}
	s.out = out
	root := newRoot(s)
	root.SetArgs(args)
	code := report(s.err, root.ExecuteContext(ctx))
	if out.err != nil {
		fmt.Fprintln(s.err, "error:", out.err)
		code = max(code, exitInput)
	}
	return code
}

// standardOutput remembers its first error, for not everyone who writes looks
// at it: half of an output must not be taken for all.
type standardOutput struct {
	io.Writer
	err error
}

func (s *standardOutput) Write(p []byte) (int, error) {
	if s.err != nil || len(p) == 0 {
		return 0, s.err
	}
	n, err := s.Writer.Write(p)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	if err != nil {
		err = fmt.Errorf("standard output: %w; what was printed is not complete", err)
		s.err = &failure{code: exitInput, err: err, silent: true} // run says it, once
	}
	return n, s.err
}
