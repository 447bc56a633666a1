// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Conflict means that a document is fine, but not in the state that a command
// starts from: it changed since it was planned, another stage comes first, or it
// does not show what was there before.
type Conflict struct{ At *yamledit.Error }

func (e *Conflict) Error() string { return e.At.Error() }

// ExitCode is that of a refusal.
func (e *Conflict) ExitCode() exitcode.Code { return exitcode.Refused }

// Unwrap gives access to the place; so ask for a Conflict before asking for a
// yamledit.Error.
func (e *Conflict) Unwrap() error { return e.At }

const elsewhere = "undo it with its plan folder (--plan), or restore the file from git"

// Lost refuses to undo a stage because what was there before is nowhere in the
// document.
func Lost(at yamledit.Node, what string) error {
	return &Conflict{at.Errorf(what, elsewhere)}
}

// Undetermined refuses to undo a stage because the document may have been
// written in several ways before. Target.Canonical chooses the usual one.
func Undetermined(at yamledit.Node, what string) error {
	return &Conflict{at.Errorf(what, elsewhere+", or add --canonical for the usual form")}
}
