// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

const (
	valuesFile = "clusters/helm/aws-ccm.yaml"
	// reviewOfValues reviews a change with that file.
	reviewOfValues = "review --base main --ccm-values " + valuesFile + " "
	ownValues      = "# Of the chart.\nargs:\n  - --v=4\n  - --cloud-provider=aws\n"
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

func TestReviewFindsTheStageOfAChangedValuesFile(t *testing.T) {
	h := withValuesFile(t)
	h.apply("--through", "--stage", "enable-leader-migration", depot)
	h.commit("before the chart")
	h.apply("--next", "--ccm-values", valuesFile, depot)
	shows(t, transform.ExitDone, reviewOfValues+"clusters", "performs install-ccm\n", "next stage: install-ccm (manual)")
	shows(t, transform.ExitInput, reviewOfValues, "--ccm-values: "+valuesFile+" has changed, and no cluster is in its folder or in the change")
	h.replace(valuesFile, "--v=4", "--v=5")
	shows(t, transform.ExitDone, reviewOfValues+"clusters", "args[0] changed  "+valuesFile+":3")
}

func TestReviewCountsTheStagesOfBothFiles(t *testing.T) {
	h := withValuesFile(t)
	h.apply("--through", "--stage", "install-ccm", "--ccm-values", valuesFile, depot)
	shows(t, transform.ExitFound, reviewOfValues, "error several-stages", "grant-migration-lease, enable-leader-migration,\n    install-ccm")
	h.git("checkout", "--quiet", depot)
	shows(t, transform.ExitFound, reviewOfValues+"clusters", "error stage-out-of-order  "+valuesFile+":2")
}

func TestReviewTakesAValuesFileThatTheChangeAdds(t *testing.T) {
	h := withValuesFile(t)
	h.git("rm", "--quiet", valuesFile)
	h.commit("without it")
	h.write(valuesFile, ownValues)
	h.git("add", valuesFile)
	h.replace(depot, "node-monitor-grace-period: 30s", "node-monitor-grace-period: 40s")
	shows(t, transform.ExitFound, reviewOfValues, "error chart-unpinned  "+valuesFile+":2", "!performs")
}

func TestReviewRefusesAValuesFileOfSeveralClusters(t *testing.T) {
	h := withValuesFile(t)
	h.replace(depot, "node-monitor-grace-period: 30s", "node-monitor-grace-period: 40s")
	h.replace("other/wharf.yaml", "cloud-provider-name: aws", "cni: calico")
	assert.Contains(t, shows(t, transform.ExitInput, reviewOfValues).stderr, "a second cluster")
	shows(t, transform.ExitInput, "review --base main --ccm-values ../../values.yaml", "not in this repository")
}
