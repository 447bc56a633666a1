// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import "errors"

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
