// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// A cloud-controller-manager may run from a DaemonSet or Deployment among the
// manifests instead of the chart. The chart would make a DaemonSet of the same
// name, and Helm takes over no objects; so the stages change the workload's flag,
// and leave all else about it to its author.

// workload returns it, if it is used instead of the chart.
func (m *migration) workload() (ccm.Workload, bool) {
	if _, found, err := m.chart(); found || err != nil {
		return ccm.Workload{}, false
	}
	docs, _ := m.manifests()
	return ccm.FindWorkload(docs)
}

// editWorkload queues that it takes part in the migration, or that it no longer
// does. found is false where there is none.
func (m *migration) editWorkload(e *yamledit.Edit, migrates bool) (found bool) {
	w, found := m.workload()
	if !found {
		return false
	}
	if migrates && m.configured() {
		e.Fail(w.Container.Errorf("this cloud-controller-manager runs without the chart, so rke-lm does not add its configuration", "remove --leader-migration-config, or mount the one that rke-lm leader-migration-config prints"))
	}
	in, err := e.Embedded(m.bundle().At())
	if err == nil {
		w, _ = ccm.FindWorkload(in.Documents()) // the same, as nodes of the edit
		err = w.Migrate(in, migrates, m.target.ShortLeases)
	}
	e.Fail(err)
	return true
}

// checkWorkload requires the flag, or that it is gone.
func checkWorkload(w ccm.Workload, migrates bool) error {
	if w.Migrates() != migrates {
		return fmt.Errorf("the cloud-controller-manager would not have the expected --%s", ccm.LeaderFlag)
	}
	return nil
}

// undoWorkload queues the reverse of a stage that gave or took the flag.
func (m *migration) undoWorkload(e *transform.Reverse, migrates bool) {
	if w, found := m.workload(); found && w.Migrates() != migrates {
		e.Usual(w.Container, "the flag --"+ccm.LeaderFlag+" may have existed before, at any place among the arguments")
		m.editWorkload(e.Edit, migrates)
	}
}
