// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// NodeRename is for nodes that get another name with an external provider, or may get one. How
// they get their names is the format's, which describes it.
var NodeRename = nodeRename{transform.Rule{
	ID: "node-rename", Severity: transform.Error, Guards: TheSwitch,
}.Because("A node that restarts under another name registers as a new Node; its volumes, labels and pods stay with the old one.", transform.SourceNodeNames+"; rancher/machine commands/create.go, writeCloudConfig; rancher/rke2 #7336, #7343, #7346", "Choose aws-override, which keeps the names. For custom machines, show with --host-names that every node's name is its host name. The label kubernetes.io/hostname shows nothing on RKE2: it is the name of the Node.", "If the nodes can be registered again under other names, one at a time, with a cloud-controller-manager of 1.30 or later.")}

type nodeRename struct{ transform.Rule }

// Open reports whether an operator has to answer for names of which the document shows nothing.
// The choice of an end state is an answer only where no host name was read.
func (nodeRename) Open(t transform.Target) bool {
	return !t.HostNames.Equal() && (t.EndState == "" || len(t.HostNames) > 0)
}

// At is an error of the switch. A document that is still in-tree is warned of it.
func (nodeRename) At(n yamledit.Node, stage, message, fix string, found *transform.Findings) {
	if f := found.At(n, message, fix); stage == "" {
		f.Severity = transform.Warning
	}
}

// Answer is how an operator keeps the names, or accepts others, where the end state is chosen.
func (nodeRename) Answer(t transform.Target) string {
	switch t.EndStateBy {
	case transform.EndStateByFlag:
		return "remove --end-state: aws-override then keeps the names; or accept the new names with --accept node-rename"
	case transform.EndStateByObject:
		return "create a LeaderMigration without end-state: aws-override then keeps the names; or accept the new names with accept: [node-rename] in a LeaderMigrationApproval of the wave, and set the annotation rke-lm.io/retry"
	case "":
		return "choose --end-state aws-override, which keeps the names; or accept the new names with --accept node-rename"
	}
	return "remove end-state from " + t.EndStateBy + ": aws-override then keeps the names; or accept the new names with the line accept: [node-rename] there"
}

// Missing is how an operator completes names of which some are not known, or answers otherwise; "" where none was read.
func (nodeRename) Missing(t transform.Target, otherwise string) string {
	if list := t.HostNames.Unknown(); len(list) > 0 {
		return "add the host names of " + Some(list) + " to the file of --host-names; or " + otherwise
	}
	return ""
}

// Some names the first few of a list.
func Some(list []string) string { return lists.Few(list, 3) }
