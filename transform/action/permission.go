// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import "slices"

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
	Provisioning = "provisioning.cattle.io"
	Management   = "management.cattle.io"
)

const (
	kubeSystem = "kube-system"
	rbac       = "rbac.authorization.k8s.io"
)

var (
	runs      = []string{"migrate", "rollback"}
	migrating = []string{"migrate"}
)
