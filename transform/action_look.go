// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import "github.com/rke-lm/rke-lm/transform/shell"

// MayLock asks whether a user may lock the migration lease; "" stands for
// DefaultLease.
type MayLock struct{ User, Lease string }

// Purpose implements Action.
func (a MayLock) Purpose() string { return "the answer must be yes" }

// Command implements Action.
func (a MayLock) Command() string {
	return shell.Line("kubectl -n kube-system auth can-i update leases/%s --as %s", leaseOr(a.Lease), a.User)
}

// Desired compares how many pods a DaemonSet wants with how many nodes a selector
// matches.
type Desired struct{ Namespace, DaemonSet, Selector string }

// Purpose implements Action.
func (Desired) Purpose() string {
	return "DESIRED, READY and UP-TO-DATE must equal the number of listed nodes, and not be 0"
}

// Command implements Action.
func (a Desired) Command() string {
	return shell.Line("kubectl get nodes -l %s; kubectl -n %s get daemonset %--%s", a.Selector, a.Namespace, a.DaemonSet)
}

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
