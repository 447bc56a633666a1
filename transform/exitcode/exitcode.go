// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package exitcode names the exit codes of rke-lm, which docs/exit-codes.md explains.
//
// Invariant: an error type says its own code by a method ExitCode; one without the
// method ends the command with Input. It imports nothing of this module, so that
// every layer can use it.
package exitcode

import "errors"

// The exit codes.
const (
	Done    = iota
	Found   // errors that guard a stage, or stages left to do
	Input   // wrong usage, or an input that cannot be read or safely edited
	Failed  // a live cluster could not be reached, or did not answer in time
	Refused // not a cluster to migrate, a conflict, a missing permission
)

// Code is an exit code of rke-lm. It has a type of its own because errors of os/exec
// have a method ExitCode as well, with that of another program.
type Code int

// Coder is an error that says its exit code.
type Coder interface {
	error
	ExitCode() Code
}

// Of returns the exit code of an error: Done for nil, else that of the first error in
// its tree that says one, else Input.
func Of(err error) int { return int(Or(err, Input)) }

// Or is [Of] with another code for an error that says none.
func Or(err error, unsaid Code) Code {
	var c Coder
	switch {
	case err == nil:
		return Done
	case errors.As(err, &c):
		return c.ExitCode()
	}
	return unsaid
}

// New returns an error like errors.New does, with an exit code.
func New(code Code, text string) error { return With(code, errors.New(text)) }

// With returns an error with an exit code.
func With(code Code, err error) error { return &coded{err, code} }

type coded struct {
	error
	code Code
}

func (c *coded) Unwrap() error { return c.error }

func (c *coded) ExitCode() Code { return c.code }
