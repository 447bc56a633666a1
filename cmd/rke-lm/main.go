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
	"io"
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
	root := newRoot(s)
	root.SetArgs(args)
	return report(s.err, root.ExecuteContext(ctx))
}
