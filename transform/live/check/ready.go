// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// nodeNotReady is the rule that finds nodes that are not ready.
const nodeNotReady = "node-not-ready"

// nodeNotReady takes nodes of which none has the condition for ones that were not
// asked for it: the API server shows it for every node, and an earlier dump for none.
func (j *evaluation) nodeNotReady(found *transform.Findings) {
	if !slices.ContainsFunc(j.Nodes, func(n observed.Node) bool { return n.Ready != nil }) {
		return
	}
	for _, n := range j.Nodes {
		if n.IsReady() {
			continue
		}
		f := found.On(nodePath(n.Name), notReady(n), "check its kubelet and its machine: "+action.Command("kubectl describe node %--%s", n.Name))
		switch {
		case n.ControlPlane():
			f.Fix += "; no stage starts while a control plane is NotReady, unless with --accept " + nodeNotReady
		case j.readyBefore(n.Name):
			f.Fix += "; it was Ready in the snapshot; if the migration is not the cause, use --accept " + nodeNotReady
		default:
			f.Severity = transform.Warning
		}
	}
}

// readyBefore reports whether a node was ready in the snapshot.
func (j *evaluation) readyBefore(name string) bool {
	return j.Before != nil && slices.ContainsFunc(j.Before.Nodes, func(n observed.NodeIdentity) bool { return n.Name == name && n.Ready })
}

// notReady says in words what a node says of itself.
func notReady(n observed.Node) string {
	what := "the node"
	if n.ControlPlane() {
		what = "the control plane"
	}
	if n.Ready == nil {
		return what + " has no condition Ready: its kubelet has not reported a status yet"
	}
	text := what + " is NotReady: its condition Ready is " + n.Ready.Status
	if n.Ready.Status == "Unknown" {
		text = what + " is NotReady: its kubelet stopped reporting its status"
	}
	if n.Ready.Reason != "" {
		text += " (" + n.Ready.Reason + ")"
	}
	if !n.Ready.Since.IsZero() {
		text += " since " + n.Ready.Since.UTC().Format("2006-01-02 15:04:05") + " UTC"
	}
	return text
}
