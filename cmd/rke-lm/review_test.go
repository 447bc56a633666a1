// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

// reviewed is one change of the history: a commit of main, or a branch that is not merged.
type reviewed struct {
	name string
	bad  bool // an error: not to be merged
	make func(*history)
}

const (
	orchard       = "clusters/orchard.yaml"
	orchardMoved  = "clusters/eu/orchard.yaml"
	depot         = "clusters/depot.yml"
	poolOfWorkers = "      - name: general\n        workerRole: true\n        quantity: 6\n"
)

const depotText = `# An RKE cluster that the command line of RKE brings up.
cluster_name: depot
kubernetes_version: v1.26.15-rancher1-1
nodes:
  - address: 10.30.0.10
    user: ubuntu
    role: [controlplane, etcd]
  - address: 10.30.0.20
    user: ubuntu
    role: [worker]
cloud_provider:
  name: aws
services:
  kube-controller:
    extra_args:
      node-monitor-grace-period: 30s
addons: ""
`

// changes are the pull requests of a team that migrates, in their order.
var changes = []reviewed{
	{"comment-only", false, func(h *history) {
		h.replace(orchard, "# The gate has to say", "# Every component has to agree: the gate has to say")
	}},
	{"reordered-keys", false, func(h *history) {
		h.replace(orchard, "      cni: calico\n      cluster-cidr: 10.96.0.0/14\n", "      cluster-cidr: 10.96.0.0/14\n      cni: calico\n")
	}},
	{"provider-removed", true, func(h *history) { h.replace(orchard, "      cloud-provider-name: aws\n", "") }},
	{"two-stages-merged", true, func(h *history) { h.apply("--through", "--stage", "enable-leader-migration", orchard) }},
	{"stage-out-of-order", true, func(h *history) {
		h.replace(orchard, "        - configure-cloud-routes=false\n", "        - configure-cloud-routes=false\n        - enable-leader-migration\n")
	}},
	{"grant-the-lease", false, func(h *history) { h.apply("--next", orchard) }},
	{"stage-with-another-edit", true, func(h *history) {
		h.apply("--next", orchard)
		h.replace(orchard, "max-pods=110", "max-pods=250")
	}},
	{"enable", false, func(h *history) { h.apply("--next", orchard) }},
	{"flag-overridden", true, func(h *history) {
		h.replace(orchard, "          kube-apiserver-arg:\n", "          kube-controller-manager-arg:\n            - bind-address=127.0.0.1\n          kube-apiserver-arg:\n")
	}},
	{"stage-undone", true, func(h *history) { h.replace(orchard, "        - enable-leader-migration\n", "") }},
	{"file-renamed", false, func(h *history) {
		h.write(orchardMoved, "")
		h.git("mv", "--force", orchard, orchardMoved)
	}},
	{"install", false, func(h *history) { h.apply("--next", orchardMoved) }},
	{"half-a-switch", true, func(h *history) {
		h.replace(orchardMoved, "      cloud-provider-name: aws\n", "      cloud-provider-name: external\n")
	}},
	{"switch-and-upgrade", true, func(h *history) {
		h.apply("--next", orchardMoved)
		h.replace(orchardMoved, "v1.24.17+rke2r1", "v1.25.16+rke2r1")
	}},
	{"acceptance-added", true, func(h *history) {
		h.apply("--next", orchardMoved)
		h.replace(".rke-lm.yaml", "cordon: auto\n", "cordon: auto\naccept:\n  - several-stages\n")
	}},
	{"switch", false, func(h *history) { h.apply("--next", orchardMoved) }},
	{"disable", false, func(h *history) { h.apply("--next", orchardMoved) }},
	{"more-pods-on-each-machine", false, func(h *history) { h.replace(orchardMoved, "max-pods=110", "max-pods=250") }},
	{"more-machines", false, func(h *history) { h.replace(orchardMoved, poolOfWorkers, strings.Replace(poolOfWorkers, "6", "8", 1)) }},
	{"acceptance-alone", false, func(h *history) {
		h.replace(".rke-lm.yaml", "cordon: auto\n", "cordon: auto\naccept:\n  - stage-undone\n")
	}},
	{"rollback-that-the-base-accepts", false, func(h *history) { h.apply("--undo", "disable-leader-migration", orchardMoved) }},
	{"half-an-rke-switch", true, func(h *history) {
		h.replace(depot, "  name: aws\n", "  name: external-aws\n")
	}},
	{"rke-grants-the-lease", false, func(h *history) { h.apply("--next", depot) }},
	{"rke-enables", false, func(h *history) { h.apply("--next", depot) }},
	{"another-cluster", false, func(h *history) { h.write("clusters/mole.yaml", small("mole")) }},
	{"cluster-removed", false, func(h *history) { h.git("rm", "--quiet", "clusters/harbour.yaml") }},
	{"two-clusters-one-stage-each", false, func(h *history) {
		h.apply("--next", depot, "--manual-done", "install-ccm")
		h.apply("--stage", "grant-migration-lease", "clusters/mole.yaml")
	}},
}

// reviewedRepository is the repository before all changes.
func reviewedRepository(t *testing.T) *history {
	t.Helper()
	examples := assert.Value(filepath.Abs("../../examples"))(t)
	h := newHistory(t)
	for from, to := range map[string]string{"ha-split-pools.yaml": orchard, "docs-like.yaml": "clusters/harbour.yaml"} {
		h.write(to, textOf(t, filepath.Join(examples, from)))
	}
	h.write(depot, depotText)
	h.write(".rke-lm.yaml", "cordon: auto\n")
	h.write("clusters/kustomized/values.yaml", "replicas: 3\n")
	h.commit("the clusters as they are")
	return h
}

// TestGoldenReviews reviews every change of the history against the commit before it.
func TestGoldenReviews(t *testing.T) {
	sweep(t)
	golden := assert.Value(filepath.Abs("testdata/review/history.txt"))(t)
	h := reviewedRepository(t)
	var all strings.Builder
	for _, c := range changes {
		base := strings.TrimSpace(h.git("rev-parse", "HEAD"))
		h.git("branch", "--force", "base")
		if c.bad {
			h.branch(c.name, func() { c.make(h) })
		} else {
			c.make(h)
			h.commit(c.name)
			h.git("branch", c.name)
		}
		r := runReview(t, "--base", base, "--head", c.name)
		if bad := r.code == transform.ExitFound; bad != c.bad || r.code > transform.ExitFound {
			t.Errorf("%s: exit %d\n%s%s", c.name, r.code, r.stdout, r.stderr)
		}
		fmt.Fprintf(&all, "$ rke-lm review --base base --head %s\n%s%s[exit %d]\n\n", c.name, r.stdout, r.stderr, r.code)
	}
	n := strings.Count(h.git("log", "--all", "--format=%h"), "\n")
	assert.Truef(t, n >= 20, "the history has %d commits", n)
	if *update {
		putFile(t, golden, all.String())
		return
	}
	want := textOf(t, golden)
	if got := all.String(); got != want {
		t.Errorf("if this is right, run: make golden\n%s", udiff.Unified("want", "got", want, got))
	}
}

func TestAReviewComesInEveryFormat(t *testing.T) {
	schema := sarifSchema(t) // before the current folder changes
	h := reviewedRepository(t)
	h.branch("everything", func() {
		h.apply("--through", "--stage", "install-ccm", orchard)
		h.apply("--next", depot)
		h.replace("clusters/harbour.yaml", "v1.26.15+rke2r1", "v1.26.15+rke2r2")
		h.replace(".rke-lm.yaml", "cordon: auto\n", "cordon: auto\naccept:\n  - several-stages\n")
	})
	for format, check := range formatChecks(schema) {
		check(t, shows(t, transform.ExitFound, "review --base main --head everything -o "+format).stdout)
	}
	shows(t, transform.ExitFound, "review --base main --head everything -o json", `"rule": "several-stages"`, `"rule": "acceptance-added"`)
}

// Uncommitted edits count, and paths are those of the current folder.
func TestWithoutAHeadTheWorkingTreeIsReviewed(t *testing.T) {
	h := reviewedRepository(t)
	h.apply("--next", orchard)
	t.Chdir("clusters")
	shows(t, transform.ExitDone, "review --base main orchard.yaml", "orchard.yaml:4\n  performs grant-migration-lease", "!clusters/")
	assert.Equal(t, shows(t, transform.ExitDone, "review --base main harbour.yaml").stdout, "", "another file is reviewed")
	shows(t, transform.ExitInput, "review --base main ../../elsewhere", "not in this repository")
}

func TestABrokenFileOfTheChangeIsAnErrorOfInput(t *testing.T) {
	h := reviewedRepository(t)
	h.replace(orchard, "metadata:\n  name: orchard\n", "metadata:\n  name: orchard\n  name: twice\n")
	assert.Contains(t, shows(t, transform.ExitInput, "review --base main -o json", `"line"`).stderr, orchard+":")
}

// What the base leaves out is no part of a review; a change cannot leave out its own files.
func TestAReviewLeavesOutWhatTheBaseDoes(t *testing.T) {
	h := newHistory(t)
	h.write(".rke-lm.yaml", "exclude: [clusters/test]\n")
	h.write("clusters/test/pier.yaml", pier)
	h.write("clusters/wharf.yaml", wharf)
	h.commit("base")
	for _, file := range []string{"clusters/test/pier.yaml", "clusters/wharf.yaml"} {
		h.write(file, strings.Replace(textOf(t, file), "cloud-provider-name: aws", "cni: calico", 1))
	}
	h.write(".rke-lm.yaml", "exclude: [clusters/test, clusters]\n")
	shows(t, transform.ExitFound, "review --base HEAD --exclude wharf.yaml --exclude test", "excluded-change", "!provider-lost")
	for _, folder := range []string{".", "clusters"} { // the patterns start where the file is
		t.Chdir(folder)
		shows(t, transform.ExitFound, "review --base HEAD -o json", `!"pier"`, `"wharf"`)
	}
	h.write("../.rke-lm.yaml", "exclude: [clusters/test]\n")
	shows(t, transform.ExitRefused, "lint .", "!pier", "wharf")
}

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
