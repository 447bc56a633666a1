// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// silent only sets the exit code: what there is to say was said.
type silent struct{ error }

func (s silent) Unwrap() error { return s.error }

// withCode lets a run end with a code after its errors were printed.
func withCode(code int) error {
	if code == exitcode.Done {
		return nil
	}
	return silent{exitcode.New(exitcode.Code(code), "")}
}

// complain prints an error, unless it is a silent one.
func complain(w io.Writer, err error) {
	if _, is := errors.AsType[silent](err); err != nil && !is {
		fmt.Fprintln(w, "error:", err)
	}
}

// problem describes an error for programs.
func problem(err error) report.Problem {
	p := report.Problem{Message: err.Error()}
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
