// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import "github.com/rke-lm/rke-lm/transform/yamledit"

// Refused says that a document is not one to migrate, or not one to edit, and
// which rule says so: not-migratable, templated or encrypted.
type Refused struct {
	Rule string
	At   *yamledit.Error
}

func (e *Refused) Error() string { return e.At.Error() }

// Unwrap gives access to the place; so ask for a Refused before asking for a
// yamledit.Error.
func (e *Refused) Unwrap() error { return e.At }

// RuleNotMigratable is the rule of documents that were understood, but hold no
// cluster to migrate.
const RuleNotMigratable = "not-migratable"

// NotMigratable refuses a cluster because of a node.
func NotMigratable(at yamledit.Node, what, do string) error {
	return &Refused{Rule: RuleNotMigratable, At: at.Errorf(what, do)}
}
