// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"
	"sync"

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

// Refused means that a document is not one to migrate, or not one to edit, and
// which rule says so.
type Refused struct {
	Rule string
	At   *yamledit.Error
	Path string // of the node that is the cause, if it is one
	// Severity is that of the finding; none for an error.
	Severity Severity
}

func (e *Refused) Error() string { return e.At.Error() }

// ExitCode is that of a refusal for a cluster that is not to be migrated, that of a finding for one
// that is described twice, and that of an input for a document that cannot be edited.
func (e *Refused) ExitCode() ExitCode {
	switch e.Rule {
	case RuleNotMigratable:
		return ExitRefused
	case RuleDuplicate:
		return ExitFound
	}
	return ExitInput
}

// Unwrap gives access to the place; so ask for a Refused before asking for a
// yamledit.Error.
func (e *Refused) Unwrap() error { return e.At }

// RuleNotMigratable is for documents that were understood, but hold no cluster to
// migrate.
const RuleNotMigratable = "not-migratable"

// RuleDuplicate is for a document whose cluster another one describes as well.
const RuleDuplicate = "duplicate-cluster"

// NotMigratable refuses a cluster because of a node.
func NotMigratable(at yamledit.Node, what, do string) error {
	return Refuse(RuleNotMigratable, at, what, do)
}

// NothingToMigrate refuses a cluster whose provider is external and not that of AWS.
func NothingToMigrate(at yamledit.Node, what string) error {
	return &Refused{Rule: RuleNotMigratable, At: at.Errorf(what+": nothing is to be migrated", "leave the cluster out; rke-lm migrates clusters of AWS"), Path: at.Path(), Severity: Note}
}

// Refuse refuses a document because of a node and for a rule.
func Refuse(rule string, at yamledit.Node, what, do string) *Refused {
	return &Refused{Rule: rule, At: at.Errorf(what, do), Path: at.Path()}
}

// Finding returns the refusal as its rule finds it.
func (e *Refused) Finding() Finding {
	message := strings.TrimPrefix(e.At.What, e.Path+": ")
	return Finding{Rule: e.Rule, Severity: cmp.Or(e.Severity, Error), File: e.At.File, Line: e.At.Line, Path: e.Path, Message: message, Fix: e.At.Do}
}

// NotMigratableIn returns an error as the finding of the rule not-migratable, if
// that rule refuses: lint says what every other verb refuses.
func NotMigratableIn(err error) []Finding {
	var r *Refused
	if !errors.As(err, &r) || r.Rule != RuleNotMigratable {
		return nil
	}
	return []Finding{r.Finding()}
}

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
