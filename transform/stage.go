// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import "github.com/rke-lm/rke-lm/transform/yamledit"

// The stages of a leader migration, by the names that every distro uses.
const (
	GrantMigrationLease   = "grant-migration-lease"
	EnableLeaderMigration = "enable-leader-migration"
	SwitchToExternal      = "switch-to-external"
)

// StageNames lists all stages in their order. A distro's stages are a
// subsequence of it.
func StageNames() []string {
	return []string{GrantMigrationLease, EnableLeaderMigration, SwitchToExternal}
}

// Stage is one reviewable change of one cluster, as the cluster stands now.
type Stage struct {
	Name string
	Why  string
	// SupersededBy names the later stages that, once done, leave nothing to do
	// here: nothing ever puts the flag back on an external manager.
	SupersededBy []string
	// Edit queues the stage's change; an empty edit says that its result holds.
	// It fails where the document cannot be edited safely.
	Edit func() (*yamledit.Edit, error)
	// Check compares the cluster with its successor: what was promised changed,
	// for every machine class, and nothing else.
	Check func(after Cluster) error
	// Actions are what has to happen outside of the document.
	Actions []Action
}

// Action is a step that is not an edit of the document. Its command is what a
// person types; its fields are what a program needs to do the same.
type Action interface {
	// Purpose says in a few words why.
	Purpose() string
	// Command returns the shell command.
	Command() string
}

// RolloutDone asks that a DaemonSet runs on every node that it is meant for.
type RolloutDone struct {
	Namespace, DaemonSet string
	Why                  string
}

// Purpose implements Action.
func (a RolloutDone) Purpose() string { return a.Why }

// Command implements Action.
func (a RolloutDone) Command() string {
	return "kubectl -n " + a.Namespace + " rollout status daemonset/" + a.DaemonSet
}
