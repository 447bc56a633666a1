// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import "github.com/rke-lm/rke-lm/transform/yamledit"

// Distro is one way in which clusters are described. All distros have this
// shape; learn one and you know all.
type Distro struct {
	Name string
	// Marker is a text that every document of the distro contains, for a quick
	// look before parsing.
	Marker string
	// Owns reports whether the document describes a cluster of this distro.
	Owns func(*yamledit.Document) bool
	// Open reads a cluster. It fails with *Refused for one that is not to be
	// migrated, and with *yamledit.Error for one that cannot be read safely.
	Open func(*yamledit.Document, Target) (Cluster, error)
	// Explain returns the effective configuration of a cluster, migratable or
	// not; nil where a distro has no such thing.
	Explain func(*yamledit.Document, Target) ([]MachineClass, error)
	// Rules are the static rules.
	Rules []Rule
}

// Cluster is a cluster that can be migrated, as it stands in a document.
type Cluster interface {
	Identity() Identity
	Document() *yamledit.Document
	// Stages returns the stages in their order.
	Stages() []Stage
	// Findings returns what the rules that guard a stage say about the cluster;
	// with "" what all rules say.
	Findings(stage string) []Finding
}

// Identity names a cluster.
type Identity struct {
	Distro    string
	Namespace string
	Name      string
	Version   string
}

// MachineClass is the effective configuration of all machines with one set of
// labels.
type MachineClass struct {
	Name     string
	Labels   map[string]string
	Settings []Setting // by key
	Dropped  []Dropped // by key
}

// Setting is one argument that machines get.
type Setting struct {
	Key        string
	Value      any // string, bool or []any
	Origin     yamledit.Node
	Why        string          // which machines the origin is for
	Overridden []yamledit.Node // earlier values for the same machines
}

// Dropped is a value that was set and does not reach the machines.
type Dropped struct {
	Key    string
	Origin yamledit.Node
	Reason string
}
