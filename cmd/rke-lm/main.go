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
	"time"

	"github.com/rke-lm/rke-lm/internal/kubeapi"
)

// streams are what one run reads and writes: the standard streams, and the network.
type streams struct {
	in       io.Reader
	out, err io.Writer
	network  kubeapi.Dial // nil for the network of this machine
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	context.AfterFunc(ctx, func() {
		time.Sleep(patienceOfUsers)
		stop()
	})
	code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// patienceOfUsers is for how long a second signal counts as the first: shells and
// wrappers send some twice. Who sends one later does not want to wait for the end.
const patienceOfUsers = time.Second

// endings are the signals that let a run come to its own end: an interrupt, a
// request, a terminal that goes. One that nohup ignores stays ignored.
func endings() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
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
