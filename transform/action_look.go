// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import "github.com/rke-lm/rke-lm/transform/shell"

// Gone looks for objects that should have left the cluster with their manifest.
// Rancher does not always delete them (rancher/rancher #36068).
type Gone struct{ Namespace, Kinds, Name string }

// Purpose implements Action.
func (Gone) Purpose() string {
	return "this must list nothing; delete manually what it lists, because it is still running"
}

// Command implements Action.
func (a Gone) Command() string {
	return shell.Line("kubectl -n %s get --ignore-not-found %--%s %s", a.Namespace, a.Kinds, a.Name)
}
