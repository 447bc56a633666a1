// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"testing"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rke2"
)

// A program that has no command line plans a cluster, and gets what the first stage makes of it.
func TestAProgramPlansAClusterAndItsFirstStage(t *testing.T) {
	finder := clusters.Finder{Distros: []transform.Distro{rke2.Distro()}}
	o := Options{Finder: finder, Found: finder.Files(t.Context(), []string{"../../examples/docs-like.yaml"}, nil).Results}
	plans, err := Plan{Options: o}.Run(t.Context())
	if err != nil || plans[0].Err != nil {
		t.Fatal(err, plans[0].Err)
	}
	next := plans[0].Made.Plans[0].Status.Next
	applied, err := Apply{Options: o, Choice: transform.Choice{Next: true}, Files: clusters.Rewriter{DryRun: true}}.Run(t.Context())
	if err != nil || applied[0].Err != nil {
		t.Fatal(err, applied[0].Err)
	}
	made := applied[0].Made
	if made.Verify != next || len(made.Changes) != 1 {
		t.Errorf("the plan continues with %s, and %s changes %d documents", next, made.Verify, len(made.Changes))
	}
	if before, after := applied[0].Docs[0].Bytes(), made.After[0].Bytes(); bytes.Equal(before, after) || !bytes.Equal(before, made.Changes[0].Before.Bytes) {
		t.Error("the document that was found is changed")
	}
}
