// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package rights lists what a verb needs to be allowed on live clusters.
//
// Invariant: there is one table. Reviews before a run ask for its rows, and the
// roles of the documentation are made from them.
package rights

import (
	"cmp"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
)

// Right is one verb on one resource.
type Right struct {
	Cluster   string // the ID of a cluster of Rancher; "" for Rancher's own
	Namespace string // "" for all of them, or for a resource that has none
	Group     string // "" for the core
	Resource  string
	Name      string // "" for all
	Verb      string
}

// Gate is what Rancher asks of a user before it passes a request for management.cattle.io
// on to its own cluster, in addition to the permission on the object itself: 2.6.10 and later, but
// not 2.7.0 (rancher pkg/api/steve/proxy/proxy.go).
var Gate = Right{Group: management, Resource: "clusters", Name: "local", Verb: "get"}

// Entry is what Rancher asks of a user before it hands a request on to another cluster than its own, given
// that cluster's ID (rancher pkg/k8slookup, 2.7 to 2.14).
func Entry(id string) Right {
	return Right{Group: management, Resource: "clusters", Name: id, Verb: "get"}
}

// String says a right as people do: "patch clusters.provisioning.cattle.io in
// fleet-default".
func (r Right) String() string {
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
	Home string // the namespace of what belongs to it, on Rancher's own cluster
	Name string // of its object
	ID   string // in Rancher
	When []string
}

// What some rows are for, and not every cluster needs, besides what actions need.
const (
	Registration  = "registration"   // Nodes are drained and deleted, so that they register again
	CanaryService = "canary-service" // a Service proves that the cloud controllers work
	Local         = "local"          // the cluster is Rancher's own
)

// Of reports whether the row is for clusters of a kind.
func (r Row) Of(kind transform.ObjectKind) bool {
	return r.Kind == transform.ObjectKind{} || r.Kind == kind
}

// Needed returns the rights that a verb needs for a cluster, each once.
func Needed(verb string, of Subject) []Right {
	return of.rights(verb, func(r Row) (Row, bool) {
		r.Namespace = cmp.Or(r.Least, r.Namespace)
		return r, !r.Optional
	})
}

// Wide returns those of all namespaces that show more than the rights of one namespace
// that Needed has in their place.
func Wide(verb string, of Subject) []Right {
	return of.rights(verb, func(r Row) (Row, bool) { return r, r.Least != "" })
}

// rights are those of the rows that choose keeps, each once.
func (of Subject) rights(verb string, choose func(Row) (Row, bool)) []Right {
	var list []Right
	for _, r := range Table() {
		r, chosen := choose(r)
		if !chosen || !slices.Contains(r.For, verb) || !r.Of(of.Kind) || r.When != "" && !slices.Contains(of.When, r.When) {
			continue
		}
		for _, do := range r.Do {
			right := Right{Group: r.Group, Resource: r.Resource, Verb: do, Namespace: r.Namespace}
			if r.Namespace == Home {
				right.Namespace = of.Home
			}
			right.Name = r.Name
			switch r.Name {
			case Own:
				right.Name = of.Name
			case ID:
				right.Name = of.ID
			}
			if r.Downstream {
				right.Cluster = of.ID
			}
			if !slices.Contains(list, right) {
				list = append(list, right)
			}
		}
	}
	return list
}
