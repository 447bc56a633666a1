// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const unschedulable = "unschedulable"

// Cordon returns a Node that is cordoned and carries the mark of a run. One that is
// cordoned already stays as it is, for it is another user's.
func Cordon(node *yamledit.Document, run string) (*yamledit.Document, error) {
	root := node.Root()
	e := node.Edit()
	if on, _ := root.Get("spec", unschedulable).Value().(bool); on {
		return node, nil
	}
	e.Put(root, true, "spec", unschedulable)
	e.Put(root, run, "metadata", "annotations", action.CordonAnnotation)
	after, _, err := e.Apply()
	return after, err
}

// Release returns a Node without the mark of a run, and not cordoned any more. One
// without the mark stays as it is.
func Release(node *yamledit.Document, run string) (*yamledit.Document, error) {
	root := node.Root()
	mark := root.Get("metadata", "annotations", action.CordonAnnotation)
	if text, _ := mark.String(); text != run {
		return node, nil
	}
	e := node.Edit()
	e.Remove(mark)
	if at := root.Get("spec", unschedulable); at.Exists() {
		e.Remove(at)
	}
	after, _, err := e.Apply()
	return after, err
}

// Marked reports whether a run cordoned a Node.
func Marked(node *yamledit.Document, run string) bool {
	text, _ := node.Root().Get("metadata", "annotations", action.CordonAnnotation).String()
	return text == run
}

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
