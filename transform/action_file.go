// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"encoding/json"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/rke-lm/rke-lm/transform/shell"
)

// ApplyFile gives a file that a plan folder holds to the cluster.
type ApplyFile struct{ File, Why string }

// Purpose implements Action.
func (a ApplyFile) Purpose() string { return a.Why }

// Command implements Action.
func (a ApplyFile) Command() string { return shell.Line("kubectl apply -f %s", shell.Path(a.File)) }

// PlaceFile puts a file that a plan folder holds on every control-plane node.
type PlaceFile struct{ File, Path, Why string }

// Purpose implements Action.
func (a PlaceFile) Purpose() string { return a.Why }

// Command implements Action.
func (a PlaceFile) Command() string {
	return shell.Line("install -m 0644 %s %s", shell.Path(a.File), shell.Path(a.Path))
}

// RemoveFile takes a file off every control-plane node.
type RemoveFile struct{ Path, Why string }

// Purpose implements Action.
func (a RemoveFile) Purpose() string { return a.Why }

// Command implements Action.
func (a RemoveFile) Command() string { return shell.Line("rm %s", shell.Path(a.Path)) }

// DeleteObject takes an object out of the cluster.
type DeleteObject struct{ Namespace, Kind, Name string }

// Purpose implements Action.
func (DeleteObject) Purpose() string {
	return "at the end, delete the unused object"
}

// Command implements Action.
func (a DeleteObject) Command() string {
	return shell.Line("kubectl -n %s delete %--%s %s", a.Namespace, a.Kind, a.Name)
}

// PatchLeaderRole is the published patch of a manager's bootstrap role.
type PatchLeaderRole struct{ Component, Lease string }

// Purpose implements Action.
func (a PatchLeaderRole) Purpose() string {
	return "the published patch: it replaces every rule that the role has (get, watch and update on the lock of " + a.Component +
		"), and grants create for the name only, which matches no create request; the API server restores missing rules when it starts"
}

// Command implements Action.
func (a PatchLeaderRole) Command() string {
	patch, err := json.Marshal(map[string][]rbacv1.PolicyRule{"rules": {{
		APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{a.Lease}, Verbs: []string{"create", "list", "get", "update"},
	}}})
	if err != nil { // strings are always JSON
		panic(err)
	}
	return shell.Line("kubectl patch -n kube-system role system::leader-locking-%s --type=merge -p %s", a.Component, string(patch))
}
