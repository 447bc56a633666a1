// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// thirty is a repository of 30 clusters, some of them on their way.
func thirty(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	through := []string{"", "grant-migration-lease", "enable-leader-migration", "install-ccm", "switch-to-external", "disable-leader-migration"}
	for i := range 30 {
		file := filepath.Join(folder, fmt.Sprintf("cluster-%02d.yaml", i))
		putFile(t, file, small(fmt.Sprintf("cluster-%02d", i)))
		if stage := through[i%len(through)]; stage != "" {
			r := runHere(t, "", "apply", "--end-state", "external", "--through", "--stage", stage, file)
			assert.Mustf(t, r.code == exitcode.Done, "exit %d\n%s", r.code, r.stderr)
		}
	}
	return folder
}

func TestTheSummaryOfThirtyClustersFitsOnAScreen(t *testing.T) {
	t.Chdir(thirty(t))
	r := runHere(t, "", "plan", "--summary", "--end-state", "external", ".")
	lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
	assert.Mustf(t, r.code == exitcode.Done && len(lines) <= 40 && strings.HasPrefix(lines[0], "CLUSTER "), "exit %d, %d lines\n%s%s", r.code, len(lines), r.stdout, r.stderr)
	end := strings.Join(lines[31:], "\n")
	want := "clusters: 30; to do: 25, manual: 0, done: 5\nnext: rke-lm apply --next --end-state=external ."
	assert.Truef(t, end == want, "%s\nwant\n%s", end, want)
	next := runHere(t, "", strings.Fields(lines[32])[2:]...)
	assert.Truef(t, next.code == exitcode.Done, "the next command: exit %d\n%s", next.code, next.stderr)
}

func TestSeveralClustersContinueWithThePathsThatWereNamed(t *testing.T) {
	here(t, map[string]string{"clusters/a.yaml": wharf, "clusters/b.yaml": strings.Replace(wharf, "name: wharf", "name: quay", 1), "clusters/old/c.yaml": strings.Replace(wharf, "name: wharf", "name: pier", 1)})
	for _, blocked := range []string{"", "", "", " (blocked: 2)"} {
		if r := must(t, exitcode.Done, "plan", "--exclude", "old", "clusters/"); !strings.Contains(r.stdout, "\nclusters: 2; to do: 2"+blocked+", manual: 0, done: 0\n") {
			t.Error(r.stdout)
		}
		r := runHere(t, "", "apply", "--next", "--exclude", "old", "clusters/")
		assert.Equal(t, !strings.Contains(r.stderr, "blocked"), strings.HasSuffix(r.stderr, "\nnext: rke-lm apply --next --exclude=old clusters/\n"), r.stderr)
	}
	must(t, exitcode.Done, "apply", "--next", "--end-state", "external", "clusters/b.yaml")
	r := must(t, exitcode.Done, "plan", "clusters/a.yaml", "clusters/b.yaml")
	assert.Truef(t, strings.Contains(r.stdout, " (blocked: 1), manual: 0, done: 0\nblocked: rke-lm plan --stage switch-to-external clusters/a.yaml shows why\n") && strings.HasSuffix(r.stdout, "\nnext: rke-lm apply --next clusters/b.yaml\n"), "one that continues is named:\n%s", r.stdout)
}

func TestThePageOfPlansEndsWithTheNextCommandAndNamesTheFiles(t *testing.T) {
	here(t, map[string]string{"a.yaml": wharf, "b/c.yaml": strings.Replace(wharf, "name: wharf", "name: quay", 1)})
	for want, args := range map[string][]string{
		"next: <code>rke-lm apply --next a.yaml</code></p>\n\n<script>":                        {"a.yaml"},
		"next: <code>rke-lm apply --next --end-state=external a.yaml b</code></p>\n\n<script>": {"--end-state", "external", "a.yaml", "b"},
	} {
		page := must(t, exitcode.Done, append([]string{"plan", "-o", "html"}, args...)...).stdout
		assert.Truef(t, strings.Contains(page, want) && strings.Contains(page, "<th>File</th>") && strings.Contains(page, "<td>a.yaml</td>"), "no %q in\n%s", want, page)
	}
}

func TestApplyEndsWithTheNextCommandAlsoAfterTheLastStageAndAnUndo(t *testing.T) {
	here(t, map[string]string{"a.yaml": wharf})
	const again, check = "next: rke-lm apply --next --end-state=external a.yaml", "next: rke-lm verify --stage disable-leader-migration --context CONTEXT"
	for _, want := range []string{again, again, again, again, check} {
		r := must(t, exitcode.Done, "apply", "--next", "--end-state", "external", "a.yaml")
		assert.Truef(t, strings.HasSuffix(r.stderr, "\n"+want+"\n"), "no %q in\n%s", want, r.stderr)
	}
	r := must(t, exitcode.Done, "apply", "--undo", "disable-leader-migration", "--end-state", "external", "a.yaml")
	assert.True(t, strings.HasSuffix(r.stderr, "\nnext: rke-lm verify --stage switch-to-external --context CONTEXT\n"), r.stderr)
}

// The configuration of the folder applies by itself, a file that the command line names does not.
func TestThePlanOfAClusterEndsWithTheCommandThatAppliesItsNextStage(t *testing.T) {
	here(t, map[string]string{"a.yaml": wharf, "choices.yaml": "end-state: external\naccept: [node-rename]\n"})
	for line, next := range map[string]string{"plan -": "-", "plan --stage grant-migration-lease a.yaml": "a.yaml", "plan --config choices.yaml a.yaml": "--config=choices.yaml a.yaml"} {
		r := runHere(t, wharf, strings.Fields(line)...)
		assert.True(t, strings.HasSuffix(r.stdout, "\nnext: rke-lm apply --next "+next+"\n"), line, r.stdout)
	}
}

func TestAClusterWithoutANameIsCalledAfterItsFile(t *testing.T) {
	here(t, map[string]string{"a/cluster.yml": strings.Replace(twinOfRKE1, "cluster_name: ibis\n", "", 1)})
	for want, args := range map[string][]string{
		"\na/cluster.yml  v1.26.15": {"plan", "--summary"},
		"rke1 a/cluster.yml  v1.26": {"plan"},
		"# Runbook: rke1 a/clu":     {"plan", "--out", "plans"},
		"| rke1 a/cluster.yml |":    {"lint", "-o", "markdown"},
		"a/cluster.yml: grant-migr": {"apply", "--next"},
	} {
		r := runHere(t, "", append(args, "a/cluster.yml")...)
		text := r.stdout + r.stderr
		if books, err := filepath.Glob("plans/*/*/runbook.md"); err == nil && len(books) > 0 {
			text += textOf(t, books[0])
		}
		assert.Truef(t, strings.Contains(text, want) && !strings.Contains(text, "no name"), "%v: no %q in\n%s", args, want, text)
	}
}

func TestAPlanOfSeveralClustersBeginsAndEndsWithTheSummary(t *testing.T) {
	t.Chdir(thirty(t))
	short := runHere(t, "", "plan", "--summary", ".").stdout
	assert.Equal(t, runHere(t, "", "plan", ".").stdout, short, "several clusters need no stages")
	long := runHere(t, "", "plan", "--all", ".").stdout
	assert.Truef(t, strings.HasPrefix(long, short) && strings.HasSuffix(long, short) && strings.Count(long, "\nclusters: 30; ") == 2, "%.2000s", long)
	one := runHere(t, "", "plan", "cluster-00.yaml").stdout
	assert.Truef(t, !strings.Contains(one, "clusters: 1;"), "one cluster needs no summary:\n%s", one)
	r := runHere(t, "", "plan", "--summary", ".")
	assert.Truef(t, strings.Contains(r.stdout, " switch-to-external (blocked) ") && strings.Contains(r.stdout, "blocked: 5"), "what blocks is not named:\n%s", r.stdout)
}

// machinePools is that of an example, without which its machines are registered by hand.
var machinePools = regexp.MustCompile(`(?m)^ {4}machinePools:\n(?: {4}[- ].*\n)+`)

// The plan of a cluster at each of its stages is one screen or two, also where an end state has to be chosen.
func TestThePlanOfAClusterHasAtMostEightyLinesOfEightyColumns(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	examples, err := filepath.Glob("../../examples/*.yaml")
	clusters, err2 := filepath.Glob("../../examples/gitops/clusters/*.yaml")
	files := map[string]string{}
	for _, file := range append(examples, clusters...) {
		text := textOf(t, file)
		files[filepath.Base(file)], files["custom-"+filepath.Base(file)] = text, machinePools.ReplaceAllString(text, "")
	}
	assert.Must(t, err == nil && err2 == nil && len(files) >= 10, err, err2, len(files))
	here(t, files)
	for file := range files {
		for stage := range 5 {
			r := must(t, exitcode.Done, "plan", file)
			choice := strings.Contains(r.stdout, "switch-to-external  blocked: node-rename, line ")
			assert.Truef(t, !strings.HasPrefix(file, "custom-") || choice, "%s: no end state has to be chosen:\n%s", file, r.stdout)
			lines := strings.Count(r.stdout, "\n")
			assert.Truef(t, lines <= 80, "%s after %d stages: %d lines\n%s", file, stage, lines, r.stdout)
			text, _, _ := strings.Cut(r.stdout, "\n--- a/") // a diff keeps its lines
			for line := range strings.SplitSeq(text, "\n") {
				assert.Truef(t, utf8.RuneCountInString(line) <= 80, "%s has a line of more than 80 columns: %s", file, line)
			}
			runHere(t, "", "apply", "--next", file) // refused where an end state has to be chosen
		}
	}
}

func TestApplyAndLintOfSeveralClustersEndWithTheSummary(t *testing.T) {
	t.Chdir(thirty(t))
	const switched = "clusters: 30; to do: 25, manual: 0, done: 5\n"
	if r := runHere(t, "", "lint", "--end-state", "external", "."); !strings.Contains(r.stderr, switched+"next: rke-lm apply --next --end-state=external .\nerrors: ") || strings.Contains(r.stdout, "clusters:") {
		t.Errorf("%s", r.stderr)
	}
	dry := runHere(t, "", "apply", "--next", "--end-state", "external", "--dry-run", ".")
	assert.True(t, strings.HasSuffix(dry.stderr, switched+"next: rke-lm apply --next --end-state=external .\n"), dry.stderr)
	r := runHere(t, "", "apply", "--next", "--end-state", "external", ".")
	assert.True(t, strings.HasSuffix(r.stderr, "clusters: 30; to do: 20, manual: 0, done: 10\nnext: rke-lm apply --next --end-state=external .\n"), r.stderr)
	assert.Contains(t, r.stderr, " migrating  grant-migration-lease ", "it does not show how far the cluster is")
	one := runHere(t, "", "apply", "--next", "--end-state", "external", "cluster-00.yaml").stderr
	assert.Truef(t, !strings.Contains(one, "clusters: "), "one cluster needs no summary:\n%s", one)
}

// The states of very many clusters cost as much as their change.
func TestApplyAndLintOfVeryManyClustersNameTheVerbThatSumsUp(t *testing.T) {
	var stream strings.Builder
	for i := range run.MostSummed + 1 {
		stream.WriteString(strings.Replace(wharf, "name: wharf", fmt.Sprintf("name: wharf-%d", i), 1) + "---\n")
	}
	here(t, map[string]string{"a.yaml": stream.String()})
	for _, verb := range [][]string{{"lint", "a.yaml"}, {"apply", "--next", "--end-state", "external", "a.yaml"}} {
		r := runHere(t, "", verb...)
		assert.Truef(t, strings.Contains(r.stderr, "clusters: 101; rke-lm plan --summary shows their states\n") && !strings.Contains(r.stderr, "REACHED"), "%v: %.2000s", verb, r.stderr)
	}
}

// A run over many files reports what is left and what was refused, whatever its code.
func TestTheSummaryKeepsWhatIsLeftApartFromWhatIsRefused(t *testing.T) {
	here(t, map[string]string{"a.yaml": wharf, "b.yaml": pier, "c.yaml": "kind: [\n"})
	for _, c := range []struct {
		args []string
		code int
		out  func(ran) string
		want string
	}{
		{[]string{"plan", "--exit-code", "--end-state", "external", "a.yaml", "b.yaml"}, exitcode.Found, func(r ran) string { return r.stdout }, "clusters: 2; to do: 2, manual: 0, done: 0\n"},
		{[]string{"plan", "--exit-code", "--end-state", "external", "a.yaml", "b.yaml", "c.yaml"}, exitcode.Input, func(r ran) string { return r.stdout }, "clusters: 2; to do: 2, manual: 0, done: 0; refused: 1\n"},
		{[]string{"plan", "--end-state", "external", "a.yaml", "c.yaml"}, exitcode.Input, func(r ran) string { return r.stdout }, "clusters: 1; to do: 1, manual: 0, done: 0; refused: 1\n"},
		{[]string{"lint", "a.yaml", "b.yaml", "c.yaml"}, exitcode.Input, func(r ran) string { return r.stderr }, "clusters: 2; to do: 2, manual: 0, done: 0; refused: 1\n"},
		{[]string{"apply", "--stage", "switch-to-external", "--through", "a.yaml", "b.yaml", "c.yaml"}, exitcode.Input, func(r ran) string { return r.stderr }, "clusters: 2; to do: 2, manual: 0, done: 0; refused: 1\n"},
		{[]string{"apply", "--next", "--end-state", "external", "a.yaml", "c.yaml"}, exitcode.Input, func(r ran) string { return r.stderr }, "clusters: 1; to do: 1, manual: 0, done: 0; refused: 1\n"},
	} {
		r := runHere(t, "", c.args...)
		assert.Truef(t, r.code == c.code && strings.Contains(c.out(r), c.want), "%v: exit %d\n%s%s", c.args, r.code, r.stdout, r.stderr)
	}
}

// A file that is not written leaves its clusters as they were.
func TestTheSummaryShowsWhatWasWritten(t *testing.T) {
	here(t, map[string]string{"a.yaml": wharf + "---\n" + strings.Replace(pier, "cloud-provider-name: aws", "cloud-provider-name: [", 1), "b.yaml": strings.Replace(wharf, "name: wharf", "name: quay", 1)})
	r := runHere(t, "", "apply", "--next", "--end-state", "external", "a.yaml", "b.yaml")
	for _, want := range []string{" in-tree    -                      grant-migration-lease    -         a.yaml\n", " migrating  grant-migration-lease  enable-leader-migration  -         b.yaml\n", "; refused: 1\nnext: rke-lm apply --next --end-state=external a.yaml b.yaml\n"} {
		assert.Contains(t, r.stderr, want)
	}
}

func TestDocumentsThatAreAllRefusedHaveErrorsAndNoTable(t *testing.T) {
	here(t, map[string]string{"a.yaml": "kind: [\n", "b.yaml": "kind: [\n"})
	for _, verb := range [][]string{{"plan"}, {"plan", "--summary"}, {"lint"}, {"apply", "--next"}} {
		r := runHere(t, "", append(verb, "a.yaml", "b.yaml")...)
		assert.Truef(t, r.code == exitcode.Input && !strings.Contains(r.stdout+r.stderr, "CLUSTER") && strings.Count(r.stderr, "error: ") == 2, "%v: exit %d\n%s%s", verb, r.code, r.stdout, r.stderr)
	}
}

func TestTheMarkdownOfThirtyClustersIsShort(t *testing.T) {
	t.Chdir(thirty(t))
	r := runHere(t, "", "plan", "-o", "markdown", ".")
	assert.Truef(t, len(r.stdout) <= 60_000 && strings.Count(r.stdout, "\n| rke2 fleet-default/cluster-") == 30 && strings.Contains(r.stdout, "are left out"), "%d bytes\n%.3000s", len(r.stdout), r.stdout)
}

// A pull request that moves all of them by a stage is a comment that GitHub takes.
func TestTheReviewOfThirtyClustersIsShort(t *testing.T) {
	files := thirty(t)
	h := newHistory(t)
	assert.NilError(t, os.CopyFS("clusters", os.DirFS(files)))
	h.commit("clusters")
	h.apply("--end-state", "external", "--next", "clusters")
	for i := range 5 { // and a mistake in some
		h.replace(fmt.Sprintf("clusters/cluster-%02d.yaml", 6*i), "kubernetesVersion: v1.26.15+rke2r1", "kubernetesVersion: v1.26.14+rke2r1")
	}
	r := runHere(t, "", "review", "--base", "HEAD", "-o", "markdown", "--end-state", "external")
	assert.Truef(t, r.code == exitcode.Found && len(r.stdout) <= 60_000 && strings.Count(r.stdout, "\n| rke2 fleet-default/cluster-") == 25 && strings.Count(r.stdout, "| performs ") == 25 && strings.Count(r.stdout, "- **error** `") >= 5, "exit %d, %d bytes\n%.3000s\n%s", r.code, len(r.stdout), r.stdout, r.stderr)
	t.Logf("%d bytes", len(r.stdout))
	small := runHere(t, "", "review", "--base", "HEAD", "-o", "markdown", "--end-state", "external", "--max-bytes", "8000").stdout
	assert.Truef(t, len(small) <= 8000 && strings.Count(small, "\n| rke2 fleet-default/cluster-") != 0 && strings.Contains(small, "left out"), "%d bytes\n%s", len(small), small)
	page := runHere(t, "", "review", "--base", "HEAD", "-o", "html", "--end-state", "external").stdout
	assert.Equal(t, strings.Count(page, "<section "), 25, page)
}

// Later stages decide it, also those that are not shown.
func TestThePlanOfAStageShowsTheSituationOfTheCluster(t *testing.T) {
	here(t, map[string]string{"a.yaml": wharf})
	must(t, exitcode.Done, "apply", "--stage", "install-ccm", "--through", "a.yaml")
	r := must(t, exitcode.Done, "plan", "--stage", "install-ccm", "a.yaml")
	assert.True(t, strings.Contains(r.stdout, "\nprovider: aws  situation: migrating\n"), r.stdout)
	ha := strings.Replace(textOf(t, "a.yaml"), "    machineGlobalConfig", "    machinePools: [{name: cp, controlPlaneRole: true, etcdRole: true, quantity: 3}, {name: w, workerRole: true, quantity: 3}]\n    machineGlobalConfig", 1)
	putFile(t, "ha.yaml", ha)
	r = must(t, exitcode.Done, "plan", "--stage", "cordon-control-plane", "ha.yaml")
	assert.Truef(t, strings.Contains(r.stdout, "cordon-control-plane  check") && strings.Contains(r.stdout, "kubectl cordon"), "it is due before the switch:\n%s", r.stdout)
	must(t, exitcode.Done, "apply", "--stage", "disable-leader-migration", "--through", "--end-state", "aws-override", "a.yaml")
	r = must(t, exitcode.Done, "plan", "--stage", "install-ccm", "a.yaml")
	assert.True(t, strings.Contains(r.stdout, "\nprovider: external  situation: external\n"), r.stdout)
}

func TestTheSummaryNamesTheEndStateThatIsTakenUnasked(t *testing.T) {
	here(t, map[string]string{"a.yaml": strings.Replace(wharf, "    machineGlobalConfig", "    machinePools: [{name: all, controlPlaneRole: true, etcdRole: true, workerRole: true}]\n    machineGlobalConfig", 1)})
	const line = "\nend state (clusters: 1): aws-override (external renames nodes); --end-state changes it\n"
	r := must(t, exitcode.Done, "plan", "--summary", "a.yaml")
	assert.True(t, strings.Contains(r.stdout, line), r.stdout)
	r = must(t, exitcode.Done, "plan", "--summary", "--end-state", "aws-override", "a.yaml")
	assert.True(t, !strings.Contains(r.stdout, "end state ("), r.stdout)
}
