// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/transform"
)

// undoTurns takes a stage back from what the document alone tells.
func undoTurns(f clusters.Cluster, t transform.Target, stage string, through bool) ([]turn, error) {
	steps, err := transform.Undo(f.Distro, f.Docs, t, stage, through)
	var turns []turn
	for _, s := range steps {
		turns = append(turns, turn{stage: s.Stage.Name, after: s.After()})
	}
	return turns, err
}
