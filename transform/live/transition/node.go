// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"github.com/rke-lm/rke-lm/transform/action"
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
