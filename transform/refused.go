// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"cmp"
	"errors"
	"strings"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

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
