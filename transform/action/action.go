// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package action holds what stages need in addition to edits of documents: what a person types, and what a run
// does in its place.
//
// Invariant: a command, its reason, the permissions that it needs and the operation that does the same are
// made in one place. A command is made for a POSIX shell by [Command], in which each value is one argument.
package action

import (
	"slices"
)

// Action is a step that is not an edit of the document.
type Action struct {
	Why     string `json:"purpose"` // in a few words
	Command string `json:"command"` // what a person types
	// Shows means that it changes nothing, and that the check of the stage asks for what it shows.
	Shows bool         `json:"-"`
	Needs []Permission `json:"-"` // of a run that carries Op out, in addition to those of every run
	// Op is one of the operations, which a run carries out; nil: nothing if it shows something, or else a person does it.
	Op any `json:"-"`
}

// The operations.
type (
	// Settle waits until every machine has applied the last change of the cluster.
	Settle struct{}
	// Removed waits until objects have left the cluster.
	Removed struct{ Namespace, Kinds, Name string }
	// Delete deletes objects, if they are there.
	Delete struct{ Namespace, Kinds, Name string }
	// Cordon makes the nodes unschedulable that a selector matches and that are not so already, and marks them.
	Cordon struct{ Selector string }
	// Uncordon releases the nodes that have the mark of the run.
	Uncordon struct{}
	// Initialize has the cloud-controller-manager read the instances of Nodes without a provider ID.
	Initialize struct{}
	// Register brings Nodes with the provider ID of another provider to AWS.
	Register struct{}
	// Apply gives a file of the stage to the cluster, or to Rancher's own.
	Apply struct {
		File    string
		Rancher bool
	}
	// SecretFromFile puts a file of the stage into a Secret, as one key of its own.
	SecretFromFile struct{ Namespace, Name, Key, File string }
	// CopySecret brings the Secret of a provider's configuration from Rancher's own cluster into kube-system
	// of the one that is migrated, as a Secret of another name and key.
	CopySecret struct{ Namespace, Name, To, Key string }
	// Place puts a file of the stage on every control-plane node, and Remove takes one off; a run does not reach machines.
	Place  struct{ File, Path string }
	Remove struct{ Path string }
	// Kubelets makes the kubelets external, or in-tree again.
	Kubelets struct{ To string }
	// HelmUpgrade installs a chart, or brings its release to other values.
	HelmUpgrade struct{ Release, Chart, Repo, Version, Namespace, Values string }
	// HelmUninstall takes a release out of the cluster.
	HelmUninstall struct{ Release, Namespace string }
	// HelmValues compares the values of a release with those that replace them, which HelmUpgrade does as well.
	HelmValues struct{}
)

// Preparation is what people do before a stage, with rights that rke-lm neither has
// nor wants. Nothing carries it out.
type Preparation struct {
	What    string // in one line
	Actions []Action
	Files   []File // that the commands name
}

// File is something that a stage needs and that a plan folder holds.
type File struct {
	Name, Content string
}

// Permission is what a run, or another verb, needs on one resource.
type Permission struct {
	For       []string // verbs of rke-lm
	Of        string   // the API group of the clusters' objects, for which it is needed; "" for all
	When      string   // what a run must have as well; "" for always
	Rancher   bool     // on Rancher's own cluster, not the one that is migrated
	Namespace string   // Home, another one, or "" for all
	Least     string   // where the permission is enough to continue; "" for Namespace
	Group     string   // "" for the core
	Resource  string
	Name      string // Own, ID, or that of another object; "" for all
	Verbs     []string
	Optional  bool   // a run continues without it
	Why       string // for the documentation
}

// Needed reports whether a verb needs it for clusters whose objects are of an API group; "" for those that all need.
func (p Permission) Needed(verb, group string) bool {
	return slices.Contains(p.For, verb) && (p.Of == "" || p.Of == group)
}

// What a run must have for some actions.
const (
	WithHelm           = "helm"            // on the PATH
	WithRestartCommand = "restart-command" // so that Nodes are drained and deleted, and register again
)

// Home is the namespace of a cluster's object; where that has none, for the one
// named like its ID.
const Home = "<namespace>"

// Own means the name of the cluster's object, and ID that of the object that Rancher manages the cluster by.
const (
	Own = "<name>"
	ID  = "<id>"
)

// The API groups of the objects that describe clusters of RKE2 and of RKE1.
const (
	ProvisioningGroup = "provisioning.cattle.io"
	ManagementGroup   = "management.cattle.io"
)

const (
	kubeSystem = "kube-system"
	rbac       = "rbac.authorization.k8s.io"
)

var (
	runs      = []string{"migrate", "rollback"}
	migrating = []string{"migrate"}
)
