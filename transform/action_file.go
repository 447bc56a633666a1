// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import "fmt"

// ApplyFile gives a file that a plan folder holds to the cluster.
type ApplyFile struct{ File, Why string }

// Purpose implements Action.
func (a ApplyFile) Purpose() string { return a.Why }

// Command implements Action.
func (a ApplyFile) Command() string { return "kubectl apply -f " + a.File }

// PlaceFile puts a file that a plan folder holds on every control-plane node.
type PlaceFile struct{ File, Path, Why string }

// Purpose implements Action.
func (a PlaceFile) Purpose() string { return a.Why }

// Command implements Action.
func (a PlaceFile) Command() string { return fmt.Sprintf("install -m 0644 %s %s", a.File, a.Path) }

// RemoveFile takes a file off every control-plane node.
type RemoveFile struct{ Path, Why string }

// Purpose implements Action.
func (a RemoveFile) Purpose() string { return a.Why }

// Command implements Action.
func (a RemoveFile) Command() string { return "rm " + a.Path }

// DeleteObject takes an object out of the cluster.
type DeleteObject struct{ Namespace, Kind, Name string }

// Purpose implements Action.
func (DeleteObject) Purpose() string {
	return "at the end, delete the object that nothing uses any more"
}

// Command implements Action.
func (a DeleteObject) Command() string {
	return fmt.Sprintf("kubectl -n %s delete %s %s", a.Namespace, a.Kind, a.Name)
}

// PatchLeaderRole is the published patch of a manager's bootstrap role.
type PatchLeaderRole struct{ Component, Lease string }

// Purpose implements Action.
func (a PatchLeaderRole) Purpose() string {
	return "the published patch: it replaces every rule that the role has (get, watch and update on the lock of " + a.Component +
		"), and grants create for the name alone, which matches no create; the API server restores missing rules when it starts"
}

// Command implements Action.
func (a PatchLeaderRole) Command() string {
	return fmt.Sprintf(`kubectl patch -n kube-system role 'system::leader-locking-%s' --type=merge -p '{"rules": [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": ["%s"], "verbs": ["create", "list", "get", "update"]}]}'`, a.Component, a.Lease)
}
