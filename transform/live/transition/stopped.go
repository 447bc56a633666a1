// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// Edit reports whether the change of a stage is in the cluster's object.
type Edit int

// NotWritten is the zero Edit. MayBeWritten is for a request without an answer.
const (
	NotWritten Edit = iota
	MayBeWritten
	Written
)

// Between reports who runs the cloud controllers of a cluster after a run that stopped
// inside of a stage: Rancher rolls a change out although the run has ended.
func Between(t transform.Target, position, stage string, edit Edit) string {
	switch edit {
	case MayBeWritten:
		return "the change of " + stage + " may be in the cluster's object, and if it is, Rancher rolls it out; before it, " + stages.LeaderAfter(position, t)
	case Written:
		return "the change of " + stage + " is in the cluster's object, and Rancher rolls it out to the machines; before it, " + stages.LeaderAfter(position, t)
	}
	return stages.LeaderAfter(position, t)
}

// TwoOwners reports whether findings say that both managers run the cloud
// controllers. Pods and leases that are about to go may say so for a moment.
func TwoOwners(findings []transform.Finding) bool { return finds(findings, "cloud-controllers-twice") }

// Permanent reports whether findings do not pass by waiting: a node that came back
// under another name stays it, and one that joined stays new.
func Permanent(findings []transform.Finding) bool {
	return finds(findings, "node-renamed") || finds(findings, "node-new")
}

func finds(findings []transform.Finding, rule string) bool {
	return slices.ContainsFunc(findings, func(f transform.Finding) bool { return f.Rule == rule && f.Stops() })
}
