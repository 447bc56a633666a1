// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// Access is one verb on one resource.
type Access struct {
	Cluster   string // the ID of a cluster of Rancher; "" for Rancher's own
	Namespace string // "" for all of them, or for a resource that has none
	Group     string // "" for the core
	Resource  string
	Name      string // "" for all
	Verb      string
}

// GatePermission is what Rancher asks of a user before it passes a request for management.cattle.io
// on to its own cluster, in addition to the permission on the object itself: 2.6.10 and later, but
// not 2.7.0 (rancher pkg/api/steve/proxy/proxy.go).
var GatePermission = Access{Group: management, Resource: "clusters", Name: "local", Verb: "get"}

// ClusterPermission is what Rancher asks of a user before it hands a request on to another cluster than its own, given
// that cluster's ID (rancher pkg/k8slookup, 2.7 to 2.14).
func ClusterPermission(id string) Access {
	return Access{Group: management, Resource: "clusters", Name: id, Verb: "get"}
}

// String says a permission as people do: "patch clusters.provisioning.cattle.io in
// fleet-default".
func (r Access) String() string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Name != "" {
		text += " " + r.Name
	}
	if r.Namespace != "" {
		text += " in " + r.Namespace
	}
	if r.Cluster != "" {
		text += " of the cluster " + r.Cluster
	}
	return text
}

// Subject is the cluster that a run is about.
type Subject struct {
	Kind transform.ObjectKind
	Home string   // the namespace of what belongs to it, on Rancher's own cluster
	Name string   // of its object
	ID   string   // in Rancher
	When []string // the conditions of rows that are met
	// Needs are those of the actions of the run.
	Needs []action.Permission
}

// The conditions of rows, in addition to those of actions.
const (
	WithCanaryService = "canary-service" // a Service proves that the cloud controllers work
	WithLocal         = "local"          // the cluster is Rancher's own
)

// Permissions returns the permissions that a verb needs for a cluster, each once.
func Permissions(verb string, of Subject) []Access {
	return of.permissions(verb, func(r action.Permission) (action.Permission, bool) {
		r.Namespace = cmp.Or(r.Least, r.Namespace)
		return r, !r.Optional
	})
}

// WidePermissions returns those of all namespaces that show more than the permissions of one namespace
// that Permissions has in their place.
func WidePermissions(verb string, of Subject) []Access {
	return of.permissions(verb, func(r action.Permission) (action.Permission, bool) { return r, r.Least != "" })
}

// permissions are those of the rows that choose keeps, each once.
func (of Subject) permissions(verb string, choose func(action.Permission) (action.Permission, bool)) []Access {
	own := map[string]string{action.Home: of.Home, action.Own: of.Name, action.ID: of.ID}
	with := func(value string) string {
		if is, marked := own[value]; marked {
			return is
		}
		return value
	}
	var list []Access
	for _, r := range append(ofEveryRun(), of.Needs...) {
		r, chosen := choose(r)
		if !chosen || !r.Needed(verb, of.Kind.Group) || r.When != "" && !slices.Contains(of.When, r.When) {
			continue
		}
		for _, do := range r.Verbs {
			permission := Access{Namespace: with(r.Namespace), Group: r.Group, Resource: r.Resource, Name: with(r.Name), Verb: do}
			if !r.Rancher {
				permission.Cluster = of.ID
			}
			list = append(list, permission)
		}
	}
	return lists.Distinct(list)
}
