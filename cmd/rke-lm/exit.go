// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/rke-lm/rke-lm/internal/atomicfile"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/planfolder"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/preconditions"
)

// Exit codes; docs/exit-codes.md explains them.
const (
	exitDone    = 0
	exitFound   = 1 // errors that guard a stage, or stages left to do
	exitInput   = 2 // wrong usage, or an input that cannot be read or safely edited
	exitFailed  = 3 // a live cluster could not be reached, or did not answer in time
	exitRefused = 4 // not a cluster to migrate, a conflict, a right that is missing
)

// failure is an error with the exit code that it asks for. A silent one only
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

// withCode lets a run end with a code after its errors were printed.
func withCode(code int) error {
	if code == exitDone {
		return nil
	}
	return &failure{code: code, silent: true}
}

// report prints an error and returns the exit code for it.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	complain(w, err)
	return exitCode(err)
}

// complain prints an error, unless it is a silent one.
func complain(w io.Writer, err error) {
	var f *failure
	if errors.As(err, &f) && f.silent {
		return
	}
	fmt.Fprintln(w, "error:", err)
}

// exitCode maps an error to its code.
func exitCode(err error) int {
	var f *failure
	if errors.As(err, &f) {
		return f.code
	}
	var r *transform.Refused
	var c *transform.Conflict
	var denied *kube.Denied
	var unreached *kube.Unreached
	var answered *kube.Failure
	var stale *rancher.Stale
	var rejected *rancher.Rejected
	var altered *rancher.Altered
	var lost *rancher.Lost
	var refused *preconditions.Refused
	var end *migrate.End
	var fault *transform.Fault
	switch {
	case errors.As(err, &fault):
		return exitInput
	case errors.As(err, &answered) && answered.NotTaken():
		return exitRefused
	case errors.As(err, &end):
		return endCode(end)
	case errors.As(err, &denied), errors.As(err, &stale), errors.As(err, &rejected), errors.As(err, &refused), errors.Is(err, observe.ErrKept):
		return exitRefused
	case errors.As(err, &altered), errors.As(err, &lost), errors.As(err, &unreached), errors.As(err, &answered):
		return exitFailed
	case errors.As(err, &r) && r.Rule == transform.RuleNotMigratable, errors.As(err, &c),
		errors.Is(err, atomicfile.ErrChanged), errors.Is(err, planfolder.ErrForeign):
		return exitRefused
	}
	return exitInput
}

// endCode is that of a run that ended before its end.
func endCode(e *migrate.End) int {
	switch {
	case e.Refused():
		return exitRefused
	case e.Found():
		return exitFound
	}
	return exitFailed
}
