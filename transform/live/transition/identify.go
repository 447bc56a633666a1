// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// WithoutProviderID are the Nodes without a provider ID of AWS.
type WithoutProviderID struct {
	Proven   []string        // without one, and their names prove their instances
	Unproven []string        // without one, and their names prove nothing
	Foreign  []observed.Node // with that of another provider, in the order in which to register them again
}

// Identify sorts Nodes by what gives them a provider ID. Machines of workers are registered
// again first, and those of etcd members last.
func Identify(nodes []observed.Node) WithoutProviderID {
	var u WithoutProviderID
	for _, n := range nodes {
		switch {
		case n.IsAWS():
		case n.ProviderID != "":
			u.Foreign = append(u.Foreign, n)
		case aws.NamesInstance(n.Name, n.Address):
			u.Proven = append(u.Proven, n.Name)
		default:
			u.Unproven = append(u.Unproven, n.Name)
		}
	}
	slices.SortStableFunc(u.Foreign, func(a, b observed.Node) int { return rank(a) - rank(b) })
	return u
}

func rank(n observed.Node) int {
	switch {
	case n.Etcd():
		return 2
	case n.ControlPlane():
		return 1
	}
	return 0
}

// Identified reports whether every Node has a provider ID of AWS.
func Identified(nodes []observed.Node) bool {
	return !slices.ContainsFunc(nodes, func(n observed.Node) bool { return !n.IsAWS() })
}

// Uninitialize returns a Node with the taint by which the cloud-controller-manager
// initializes it. One that has it, or a provider ID, stays as it is.
func Uninitialize(node *yamledit.Document) (*yamledit.Document, error) {
	root := node.Root()
	taints := root.Get("spec", "taints")
	tainted := slices.ContainsFunc(taints.Items(), func(t yamledit.Node) bool { return t.StringAt("key") == observed.Uninitialized })
	if tainted || root.StringAt("spec", "providerID") != "" {
		return node, nil
	}
	taint := yamledit.Map{{Key: "key", Value: observed.Uninitialized}, {Key: "value", Value: "true"}, {Key: "effect", Value: "NoSchedule"}}
	e := node.Edit()
	if taints.Exists() {
		e.Append(taints, taint)
	} else {
		e.Put(root, []any{taint}, "spec", "taints")
	}
	after, _, err := e.Apply()
	return after, err
}
