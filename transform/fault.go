// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The exit codes of rke-lm, which docs/exit-codes.md explains. An error type says its own code by a method
// ExitCode; one without the method ends the command with ExitInput.
const (
	ExitDone    = iota
	ExitFound   // errors that guard a stage, or stages left to do
	ExitInput   // wrong usage, or an input that cannot be read or safely edited
	ExitFailed  // a live cluster could not be reached, or did not answer in time
	ExitRefused // not a cluster to migrate, a conflict, a missing permission
)

// ExitCode is an exit code of rke-lm. It has a type of its own because errors of os/exec
// have a method ExitCode as well, with that of another program.
type ExitCode int

// ExitCodeOf returns the exit code of an error: ExitDone for nil, else that of the first error in
// its tree that says one, else ExitInput.
func ExitCodeOf(err error) int { return int(ExitCodeOr(err, ExitInput)) }

// ExitCodeOr is [ExitCodeOf] with another code for an error that says none.
func ExitCodeOr(err error, unknown ExitCode) ExitCode {
	var c interface {
		error
		ExitCode() ExitCode
	}
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &c):
		return c.ExitCode()
	}
	return unknown
}

// NewError returns an error like errors.New does, with an exit code.
func NewError(code ExitCode, text string) error { return WithExitCode(code, errors.New(text)) }

// WithExitCode returns an error with an exit code.
func WithExitCode(code ExitCode, err error) error { return &coded{err, code} }

type coded struct {
	error
	code ExitCode
}

func (c *coded) Unwrap() error { return c.error }

func (c *coded) ExitCode() ExitCode { return c.code }

// Fault is a panic while one document was worked on: a bug of rke-lm.
type Fault struct {
	At   string // the document
	What string // the panic, without anything of the document
	Code string // the line of rke-lm that ran
}

func (f *Fault) Error() string {
	return fmt.Sprintf("%s: rke-lm failed (%s at %s); report this as a bug of rke-lm", f.At, f.What, f.Code)
}

// ExitCode is that of a document that cannot be worked on.
func (f *Fault) ExitCode() ExitCode { return ExitInput }

// Guard calls work for one document, and returns a panic in it as a *Fault, or as the error that its
// budget is spent, so that
// it does not end the work on other documents, nor keep a lock.
func Guard(at string, work func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *yamledit.Error: // the budget of a document is spent
			err = r
		default:
			err = &Fault{At: at, What: panicText(r), Code: panickedAt()}
		}
	}()
	return work()
}

// panicText reports what a panic was about. A text that is not the runtime's own may
// quote the document, and with it a secret.
func panicText(r any) string {
	if e, is := r.(runtime.Error); is {
		return strings.TrimPrefix(e.Error(), "runtime error: ")
	}
	return fmt.Sprintf("%T", r)
}

// panickedAt returns the innermost line of this module in the stack of a panic.
func panickedAt() string {
	var calls [64]uintptr
	frames := runtime.CallersFrames(calls[:runtime.Callers(1, calls[:])])
	for panicked := false; ; {
		f, more := frames.Next()
		if panicked && strings.Contains(f.Function, "rke-lm/") {
			return fmt.Sprintf("%s, %s:%d", path.Base(f.Function), path.Base(f.File), f.Line)
		}
		panicked = panicked || strings.HasPrefix(f.Function, "runtime.")
		if !more {
			return "an unknown line"
		}
	}
}
