// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import "slices"

// Managers is what the managers of a cluster show.
type Managers struct {
	Granted   bool // kube-controller-manager may lock the migration lease
	Flag      bool // it takes part in the migration
	External  bool // it runs no cloud controllers
	Cloud     bool // a cloud-controller-manager is there
	CloudFlag bool // which takes part in the migration
}

// Reached returns the last stage whose result managers show; "" for none.
func Reached(m Managers) string {
	for _, s := range slices.Backward(ordered()) {
		if s.shown != nil && s.shown(m) {
			return s.Name
		}
	}
	return ""
}

// Observed is what a cluster shows of stages that its document says nothing of.
type Observed struct {
	Switched bool // the document has the external provider
	Marked   bool // a Node has the mark of the run
	Cloud    bool // a DaemonSet of the cloud-controller-manager is there
	Migrates bool // a cloud-controller-manager takes part in the migration
	// Identified means that every Node has a provider ID of AWS.
	Identified bool
	// Helm means that the stage brings a chart with helm; Installed that its values run,
	// and Finished that they have left the migration.
	Helm, Installed, Finished bool
}

// Past reports whether a stage of actions alone was done, as the cluster shows it.
func Past(stage string, seen Observed) bool {
	s := Named(stage)
	return s.past != nil && s.past(seen)
}

// Undoable reports whether anything of a stage of actions alone is on the cluster.
func Undoable(stage string, seen Observed) bool {
	s := Named(stage)
	return s.undo == nil || s.undo(seen)
}
