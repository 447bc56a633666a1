// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"

	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// failure is an error with its exit code. A silent one only
// sets the code: what there is to say was said.
type failure struct {
	code   int
	err    error
	silent bool
}

func (f *failure) Error() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// ExitCode is the code of the failure.
func (f *failure) ExitCode() exitcode.Code { return exitcode.Code(f.code) }

// withCode lets a run end with a code after its errors were printed.
func withCode(code int) error {
	if code == exitcode.Done {
		return nil
	}
	return &failure{code: code, silent: true}
}

// report prints an error and returns the exit code for it.
func report(w io.Writer, err error) int {
	if err != nil {
		complain(w, err)
	}
	return exitcode.Of(err)
}

// complain prints an error, unless it is a silent one.
func complain(w io.Writer, err error) {
	var f *failure
	if errors.As(err, &f) && f.silent {
		return
	}
	fmt.Fprintln(w, "error:", err)
}

// problem describes an error for programs.
func problem(err error) outputs.Problem {
	p := outputs.Problem{Message: err.Error()}
	var at *yamledit.Error
	if errors.As(err, &at) {
		p.File, p.Line = at.File, at.Line
	}
	var r *transform.Refused
	if errors.As(err, &r) {
		p.Rule = r.Rule
	}
	return p
}
