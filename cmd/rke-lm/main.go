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
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
)

// streams are what one run reads and writes: the standard streams, and the network.
// What is written to out and err is text for people, or JSON.
type streams struct {
	in       io.Reader
	out, err io.Writer
	network  kube.Dial // nil for the network of this machine

	data     io.Writer              // where documents and YAML go, which keep their bytes
	standard *report.StandardOutput // under out and data
	progress *report.Progress       // nil where none is shown
}

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200) // a tenth less CPU for a plan of 500 clusters, which takes 210 MB instead of 160 MB
	}
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	context.AfterFunc(ctx, func() {
		time.Sleep(repeatedSignal)
		stop()
	})
	code := execute(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// repeatedSignal is for how long a second signal counts as the first: shells and
// wrappers send some twice. Who sends one later does not want to wait for the end.
const repeatedSignal = time.Second

// endings are the signals that let a run come to its own end: an interrupt, a
// request, a terminal that goes. One that nohup ignores stays ignored.
func endings() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, s streams) int {
	s.out, s.err, s.progress = report.ProgressOn(s.out, s.err)
	s.standard = &report.StandardOutput{Writer: s.out}
	text, notes := report.NewEscapingWriter(s.standard), report.NewEscapingWriter(s.err) // until they are flushed
	s.out, s.err, s.data = text, notes, s.standard
	if report.IsTerminal(text) {
		s.data = text // a document could steer it
	}
	defer notes.Flush()
	defer text.Flush()
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	report.WriteError(s.err, err)
	code := transform.ExitCodeOf(err)
	text.Flush()
	if notes.Flush(); s.standard.Err != nil {
		fmt.Fprintln(s.err, "error:", s.standard.Err)
		code = max(code, transform.ExitInput)
	}
	return code
}

// withCode lets a run end with a code after its errors were printed.
func withCode(code int) error {
	if code == transform.ExitDone {
		return nil
	}
	return report.Silent{Err: transform.NewError(transform.ExitCode(code), "")}
}
