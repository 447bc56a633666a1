// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/transform"
)

// undoFileSteps undoes a stage from what the document alone shows.
func undoFileSteps(f clusters.Cluster, t transform.Target, stage string, through bool) ([]fileStep, error) {
	steps, err := transform.Undo(f.Distro, f.Docs, t, stage, through)
	var fileSteps []fileStep
	for _, s := range steps {
		fileSteps = append(fileSteps, fileStep{stage: s.Stage.Name, after: s.After()})
	}
	return fileSteps, err
}
