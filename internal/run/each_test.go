// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const harbour = `apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata: {name: harbour, namespace: fleet-default}
spec:
  kubernetesVersion: v1.26.15+rke2r1
  rkeConfig:
    machineGlobalConfig:
      cloud-provider-name: aws
`

// reached is what a search finds in a file with a text.
func reached(t *testing.T, text string) (file string, o Options) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "harbour.yaml")
	assert.NilError(t, os.WriteFile(file, []byte(text), 0o600))
	s := Search{Formats: []transform.Format{rke2.Format()}}
	return file, s.Run(t.Context(), []string{file})
}

func TestApplyWritesAFileAndReturnsHowTheClusterIsLeft(t *testing.T) {
	file, o := reached(t, harbour)
	var shown []report.Applied
	a := Apply{Options: o, Choice: plan.Choice{Next: true}, Show: func(one report.Applied) { shown = append(shown, one) }}
	results := assert.Value(a.Run(t.Context()))(t)
	text, err := os.ReadFile(file)
	assert.Truef(t, err == nil && !bytes.Equal(text, []byte(harbour)) && bytes.Contains(text, results[0].Left[0]), "%v\n%s", err, text)
	s := a.States(results)
	assert.True(t, s.Alone && s.Of[0].Next == stages.EnableLeaderMigration && strings.Contains(s.Check, stages.GrantMigrationLease), s)
	last := shown[len(shown)-1]
	assert.True(t, len(shown) == 2 && len(last.Files) == 1 && last.Clusters[0].What == stages.GrantMigrationLease+" written", shown)
}

func TestTheOnlyVerbOverClustersKeepsNoneOfTheirDocuments(t *testing.T) {
	for once, kept := range map[bool]int{true: 0, false: 1} {
		_, o := reached(t, harbour)
		o.Once = once
		results := assert.Value(Plan{Options: o}.Run(t.Context()))(t)
		assert.True(t, len(results[0].Made.Plans) == 1 && len(results[0].Docs) == kept && len(o.Found[0].Docs) == kept, once, results[0].Err)
	}
}

func TestAFileWithAnErrorIsNotWritten(t *testing.T) {
	broken := strings.Replace(strings.Replace(harbour, "harbour", "wharf", 1), "aws", "{{ .Provider }}", 1)
	file, o := reached(t, harbour+"---\n"+broken)
	results := assert.Value(Apply{Options: o, Choice: plan.Choice{Next: true}, Show: func(report.Applied) {}}.Run(t.Context()))(t)
	ends := results[len(results)-1].Made.Ends
	text, err := os.ReadFile(file)
	assert.Truef(t, err == nil && string(text) == harbour+"---\n"+broken && len(ends.Errs) == 1 && len(ends.Clusters) == 0 && ends.Notes[0] == file+": not written, because of errors in it", "%v, %+v", err, ends)
	s := States(results, false)
	assert.True(t, len(s.Of) == 1 && s.Refused == 1 && s.Of[0].Next == stages.GrantMigrationLease, s)
}

func TestPlansOfOtherClustersAreRefused(t *testing.T) {
	file, o := reached(t, harbour)
	_, err := Apply{Options: o, Choice: plan.Choice{Next: true}, Show: func(report.Applied) {}, Folder: "plans", Saved: []plan.Saved{}}.Run(t.Context())
	text, readErr := os.ReadFile(file)
	assert.Truef(t, readErr == nil && string(text) == harbour && transform.ExitCodeOf(err) == transform.ExitRefused, "%v, %v", err, readErr)
}

// faulty is a cluster of which a rule cannot look at the document as it is.
type faulty struct{ transform.Cluster }

func (c faulty) Findings(stage string) []transform.Finding {
	if stage == "" {
		panic("a fault of a rule")
	}
	return c.Cluster.Findings(stage)
}

func TestAFaultInTheStateOfAClusterEndsNoRun(t *testing.T) {
	_, o := reached(t, harbour)
	o.Target = transform.Target{EndState: transform.EndStateOverride}
	a := Apply{Options: o, Choice: plan.Choice{Stage: stages.DisableLeaderMigration, Through: true}, Show: func(report.Applied) {}}
	results, err := a.Run(t.Context())
	assert.Must(t, err == nil && len(a.States(results).Of) == 1, err, a.States(results))
	open := results[0].Format.Open
	results[0].Format.Open = func(docs []*yamledit.Document, target transform.Target) (transform.Cluster, error) {
		c, err := open(docs, target)
		return faulty{c}, err
	}
	s := a.States(results)
	assert.True(t, len(s.Of) == 0, s)
}
