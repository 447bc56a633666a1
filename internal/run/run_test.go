// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/manifest"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2"
)

// A program that has no command line plans a cluster, and gets what the first stage makes of it.
func TestAProgramPlansAClusterAndItsFirstStage(t *testing.T) {
	finder := clusters.Finder{Formats: []transform.Format{rke2.Format()}}
	o := Options{Finder: finder, Found: finder.Files(t.Context(), []string{"../../examples/docs-like.yaml"}, nil).Results}
	plans, err := Plan{Options: o}.Run(t.Context())
	assert.Must(t, err == nil && plans[0].Err == nil, err, plans[0].Err)
	next := plans[0].Made.Plans[0].Status.Next
	applied, err := Apply{Options: o, Choice: plan.Choice{Next: true}, Show: func(report.Applied) {}, Files: clusters.Rewriter{DryRun: true}}.Run(t.Context())
	assert.Must(t, err == nil && applied[0].Err == nil, err, applied[0].Err)
	made := applied[0].Made
	assert.Truef(t, made.Verify == next && len(made.Changes) == 1, "the plan continues with %s, and %s changes %d documents", next, made.Verify, len(made.Changes))
	if before, after := applied[0].Docs[0].Bytes(), made.After[0]; bytes.Equal(before, after) || !bytes.Equal(before, made.Changes[0].Before.Bytes) {
		t.Error("the document that was found is changed")
	}
}

// What was found by then is not all.
func TestARunThatIsInterruptedFails(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	_, plan := Plan{}.Run(ctx)
	_, apply := Apply{}.Run(ctx)
	_, lint := Lint{}.Run(ctx)
	_, explain := Explain{}.Run(ctx)
	for _, err := range []error{plan, apply, lint, explain} {
		assert.True(t, errors.Is(err, context.Canceled), err)
	}
}

// Only RKE2 lists its keys: another one that is not set is no mistake where none are listed.
func TestAKeyOfAManifestThatIsNotSetIsNoError(t *testing.T) {
	finder := clusters.Finder{Formats: []transform.Format{manifest.Format()}}
	pod := `{apiVersion: v1, kind: Pod, metadata: {name: kube-controller-manager, namespace: kube-system}, spec: {containers: [
  {name: kube-controller-manager, image: "registry.k8s.io/kube-controller-manager:v1.26.15", command: [kube-controller-manager, --cloud-provider=aws]}]}}`
	found := finder.Files(t.Context(), []string{"-"}, strings.NewReader(pod)).Results
	results, err := Explain{Options: Options{Finder: finder, Found: found}, Key: "cluster-cidr"}.Run(t.Context())
	assert.Truef(t, err == nil && results[0].Err == nil && results[0].Config.Format != "", "%v, %+v", err, results[0])
}

func TestALookWithoutAnEndIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forever := make(chan struct{})
		defer close(forever)
		s := withTimeout(t.Context(), 10*time.Millisecond, "orchard", func(context.Context) Inspected {
			<-forever
			return Inspected{}
		})
		assert.True(t, s.Code == transform.ExitFailed && len(s.Clusters) == 1 && s.Clusters[0].Name == "orchard" && strings.Contains(s.Clusters[0].Problem, "; check the API server, or the program for the credentials"), s)
		s = withTimeout(t.Context(), 10*time.Millisecond, "orchard", func(ctx context.Context) Inspected {
			<-ctx.Done()
			return lineOf(report.Status{Name: "orchard", Problem: "its own"}, transform.ExitRefused)
		})
		assert.True(t, s.Code == transform.ExitRefused && s.Clusters[0].Problem == "its own", s)
	})
}
