// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"cmp"
	"sync"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Conflict means that a document is fine, but not in the state that a command
// starts from: it changed since it was planned, another stage comes first, or it
// does not show what was there before.
type Conflict struct{ At *yamledit.Error }

func (e *Conflict) Error() string { return e.At.Error() }

// ExitCode is that of a refusal.
func (e *Conflict) ExitCode() ExitCode { return ExitRefused }

// Unwrap gives access to the place; so ask for a Conflict before asking for a
// yamledit.Error.
func (e *Conflict) Unwrap() error { return e.At }

const undoOtherwise = "undo it with its plan folder (--plan), or restore the file from git"

// ConflictIn is the conflict of a file as a whole.
func ConflictIn(file, what, do string) error {
	return &Conflict{&yamledit.Error{File: file, What: what, Do: do}}
}

// Lost refuses to undo a stage because what was there before is nowhere in the
// document.
func Lost(at yamledit.Node, what string) error {
	return &Conflict{at.Errorf(what, undoOtherwise)}
}

// Undetermined refuses to undo a stage because the document may have been
// written in several ways before. Target.Canonical chooses the usual one.
func Undetermined(at yamledit.Node, what string) error {
	return &Conflict{at.Errorf(what, undoOtherwise+", or add --canonical for the usual form")}
}

// EditOf makes the Edit of a stage from what queues it in a document, once.
func EditOf(doc *yamledit.Document, queue func(*yamledit.Edit)) func() (*yamledit.Edit, error) {
	return sync.OnceValues(func() (*yamledit.Edit, error) {
		e := doc.Edit()
		queue(e)
		if err := e.Err(); err != nil {
			return nil, err
		}
		return e, nil
	})
}

// Reverse is the edit of an undo.
type Reverse struct {
	*yamledit.Edit
	target Target
	open   error // the first choice that nothing determines
}

// Usual makes a choice that the document does not determine. The undo fails with it unless the
// operator asked for the usual form.
func (r *Reverse) Usual(at yamledit.Node, what string) {
	if r.open == nil && !r.target.CanonicalForm {
		r.open = Undetermined(at, what+"; the file does not show which")
	}
}

// Reversed queues an undo in an edit.
func Reversed(e *yamledit.Edit, t Target, queue func(*Reverse)) {
	r := &Reverse{Edit: e, target: t}
	queue(r)
	e.Fail(cmp.Or(e.Err(), r.open))
}
