// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

const (
	valuesFile = "clusters/helm/aws-ccm.yaml"
	ownValues  = "# Of the chart.\nargs:\n  - --v=4\n  - --cloud-provider=aws\n"
)

// withValuesFile is a repository with an RKE cluster, its values file in another folder, and a
// cluster that has nothing to do with either.
func withValuesFile(t *testing.T) *history {
	t.Helper()
	h := newHistory(t)
	h.write(depot, depotText)
	h.write(valuesFile, ownValues)
	h.write("other/wharf.yaml", wharf)
	h.commit("the clusters as they are")
	return h
}

func reviewOfValues(t *testing.T, want int, args ...string) ran {
	t.Helper()
	r := runHere(t, "", append([]string{"review", "--base", "main", "--ccm-values", valuesFile}, args...)...)
	assert.Truef(t, r.code == want, "%v: exit %d\n%s%s", args, r.code, r.stdout, r.stderr)
	return r
}

func TestReviewFindsTheStageOfAChangedValuesFile(t *testing.T) {
	h := withValuesFile(t)
	h.apply("--through", "--stage", "enable-leader-migration", depot)
	h.commit("before the chart")
	h.apply("--next", "--ccm-values", valuesFile, depot)
	r := reviewOfValues(t, exitcode.Done, "clusters")
	assert.True(t, strings.Contains(r.stdout, "performs install-ccm\n") && strings.Contains(r.stdout, "next stage: install-ccm (manual)"), r.stdout)
	if r := reviewOfValues(t, exitcode.Input); !strings.Contains(r.stderr, "--ccm-values: "+valuesFile+" has changed, and no cluster is in its folder or in the change") {
		t.Error(r.stderr)
	}
	h.replace(valuesFile, "--v=4", "--v=5")
	if r := reviewOfValues(t, exitcode.Done, "clusters"); !strings.Contains(r.stdout, "args[0] changed  "+valuesFile+":3") {
		t.Error(r.stdout)
	}
}

func TestReviewCountsTheStagesOfBothFiles(t *testing.T) {
	h := withValuesFile(t)
	h.apply("--through", "--stage", "install-ccm", "--ccm-values", valuesFile, depot)
	r := reviewOfValues(t, exitcode.Found)
	assert.True(t, strings.Contains(r.stdout, "error several-stages") && strings.Contains(r.stdout, "grant-migration-lease, enable-leader-migration,\n    install-ccm"), r.stdout)
	h.git("checkout", "--quiet", depot)
	if r := reviewOfValues(t, exitcode.Found, "clusters"); !strings.Contains(r.stdout, "error stage-out-of-order  "+valuesFile+":2") {
		t.Error(r.stdout)
	}
}

func TestReviewTakesAValuesFileThatTheChangeAdds(t *testing.T) {
	h := withValuesFile(t)
	h.git("rm", "--quiet", valuesFile)
	h.commit("without it")
	h.write(valuesFile, ownValues)
	h.git("add", valuesFile)
	h.replace(depot, "node-monitor-grace-period: 30s", "node-monitor-grace-period: 40s")
	r := reviewOfValues(t, exitcode.Found)
	assert.True(t, strings.Contains(r.stdout, "error chart-unpinned  "+valuesFile+":2") && !strings.Contains(r.stdout, "performs"), r.stdout)
}

func TestReviewRefusesAValuesFileOfSeveralClusters(t *testing.T) {
	h := withValuesFile(t)
	h.replace(depot, "node-monitor-grace-period: 30s", "node-monitor-grace-period: 40s")
	h.replace("other/wharf.yaml", "cloud-provider-name: aws", "cni: calico")
	r := reviewOfValues(t, exitcode.Input)
	assert.True(t, strings.Contains(r.stderr, "a second cluster"), r.stderr)
	if r := runHere(t, "", "review", "--base", "main", "--ccm-values", "../../values.yaml"); r.code != exitcode.Input || !strings.Contains(r.stderr, "not in this repository") {
		t.Errorf("exit %d\n%s", r.code, r.stderr)
	}
}
