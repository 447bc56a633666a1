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

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// streams are what one run reads and writes: the standard streams, and the network.
// What is written to out and err is text for people, or JSON.
type streams struct {
	in       io.Reader
	out, err io.Writer
	network  kube.Dial // nil for the network of this machine

	progress *report.Progress // nil where none is shown
}

// data is where documents and YAML go, which keep their bytes. A terminal gets them
// with escapes: a document could steer it.
func (s streams) data() io.Writer {
	if people, is := s.out.(*report.EscapingWriter); is && !isTerminal(underneath(s.out)) {
		return people.Under()
	}
	return s.out
}

// underneath returns the stream that text is written to in the end.
func underneath(w io.Writer) io.Writer {
	switch w := w.(type) {
	case *standardOutput:
		return underneath(w.Writer)
	case interface{ Under() io.Writer }:
		return underneath(w.Under())
	}
	return w
}

func main() {
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
	s = s.withProgress(os.Getenv)
	out := &standardOutput{Writer: s.out}
	people, notes := report.NewEscapingWriter(out), report.NewEscapingWriter(s.err) // until they are flushed
	s.out, s.err = people, notes
	defer notes.Flush()
	defer people.Flush()
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	report.WriteError(s.err, err)
	code := exitcode.Of(err)
	people.Flush()
	if notes.Flush(); out.err != nil {
		fmt.Fprintln(s.err, "error:", out.err)
		code = max(code, exitcode.Input)
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
		err = fmt.Errorf("standard output: %w; the output is not complete", err)
		s.err = report.Silent{Err: err} // execute says it, once
	}
	return n, s.err
}

// closed reports whether out takes no more output.
func (s streams) closed() bool {
	w := s.out
	if people, is := w.(*report.EscapingWriter); is {
		w = people.Under()
	}
	out, is := w.(*standardOutput)
	return is && out.err != nil
}

// withCode lets a run end with a code after its errors were printed.
func withCode(code int) error {
	if code == exitcode.Done {
		return nil
	}
	return report.Silent{Err: exitcode.New(exitcode.Code(code), "")}
}
