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
	"github.com/rke-lm/rke-lm/transform"
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
			shows(t, transform.ExitDone, "apply --end-state external --through --stage "+stage+" "+file)
		}
	}
	return folder
}

func TestTheSummaryOfThirtyClustersFitsOnAScreen(t *testing.T) {
	t.Chdir(thirty(t))
	const next = "apply --next --end-state=external ."
	r := shows(t, transform.ExitDone, "plan --summary --end-state external .")
	assert.True(t, strings.HasPrefix(r.stdout, "CLUSTER ") && strings.Count(r.stdout, "\n") == 33 && strings.HasSuffix(r.stdout, "\nclusters: 30; to do: 25, manual: 0, done: 5\nnext: rke-lm "+next+"\n"), r.stdout)
	shows(t, transform.ExitDone, next)
}

func TestSeveralClustersContinueWithThePathsThatWereNamed(t *testing.T) {
	here(t, map[string]string{"clusters/a.yaml": wharf, "clusters/b.yaml": strings.Replace(wharf, "name: wharf", "name: quay", 1), "clusters/old/c.yaml": strings.Replace(wharf, "name: wharf", "name: pier", 1)})
	for _, blocked := range []string{"", "", "", " (blocked: 2)"} {
		shows(t, transform.ExitDone, "plan --exclude old clusters/", "\nclusters: 2; to do: 2"+blocked+", manual: 0, done: 0\n")
		r := runHere(t, "", "apply", "--next", "--exclude", "old", "clusters/")
		assert.Equal(t, !strings.Contains(r.stderr, "blocked"), strings.HasSuffix(r.stderr, "\nnext: rke-lm apply --next --exclude=old clusters/\n"), r.stderr)
	}
	shows(t, transform.ExitDone, "apply --next --end-state external clusters/b.yaml")
	r := shows(t, transform.ExitDone, "plan clusters/a.yaml clusters/b.yaml", " (blocked: 1), manual: 0, done: 0\nblocked: rke-lm plan --stage switch-to-external clusters/a.yaml shows why\n")
	assert.True(t, strings.HasSuffix(r.stdout, "\nnext: rke-lm apply --next clusters/b.yaml\n"), "one that continues is named", r.stdout)
}

func TestThePageOfPlansEndsWithTheNextCommandAndNamesTheFiles(t *testing.T) {
	here(t, map[string]string{"a.yaml": wharf, "b/c.yaml": strings.Replace(wharf, "name: wharf", "name: quay", 1)})
	for args, next := range map[string]string{"a.yaml": "a.yaml", "--end-state external a.yaml b": "--end-state=external a.yaml b"} {
		shows(t, transform.ExitDone, "plan -o html "+args, "next: <code>rke-lm apply --next "+next+"</code></p>\n\n<script>", "<th>File</th>", "<td>a.yaml</td>")
	}
}

func TestApplyEndsWithTheNextCommandAlsoAfterTheLastStageAndAnUndo(t *testing.T) {
	here(t, map[string]string{"a.yaml": wharf})
	const again = "apply --next --end-state=external a.yaml"
	for _, c := range []struct{ line, next string }{
		{again, again}, {again, again}, {again, again}, {again, again}, {again, "verify --stage disable-leader-migration --context CONTEXT"},
		{"apply --undo disable-leader-migration --end-state external a.yaml", "verify --stage switch-to-external --context CONTEXT"},
	} {
		r := shows(t, transform.ExitDone, c.line)
		assert.True(t, strings.HasSuffix(r.stderr, "\nnext: rke-lm "+c.next+"\n"), c.next, r.stderr)
	}
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
	short := shows(t, transform.ExitDone, "plan --summary .", " switch-to-external (blocked) ", "blocked: 5").stdout
	assert.Equal(t, shows(t, transform.ExitDone, "plan .").stdout, short, "several clusters need no stages")
	long := shows(t, transform.ExitDone, "plan --all .").stdout
	assert.Truef(t, strings.HasPrefix(long, short) && strings.HasSuffix(long, short) && strings.Count(long, "\nclusters: 30; ") == 2, "%.2000s", long)
	shows(t, transform.ExitDone, "plan cluster-00.yaml", "!clusters: 1;")
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
			r := shows(t, transform.ExitDone, "plan "+file)
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
	const left, next = "clusters: 30; to do: 25, manual: 0, done: 5\n", "next: rke-lm apply --next --end-state=external .\n"
	r := shows(t, transform.ExitDone, "lint --end-state external .", left+next+"errors: ")
	assert.True(t, !strings.Contains(r.stdout, "clusters:"), r.stdout)
	r = shows(t, transform.ExitDone, "apply --next --end-state external --dry-run .")
	assert.True(t, strings.HasSuffix(r.stderr, left+next), r.stderr)
	r = shows(t, transform.ExitDone, "apply --next --end-state external .", " migrating  grant-migration-lease ") // how far the cluster is
	assert.True(t, strings.HasSuffix(r.stderr, "clusters: 30; to do: 20, manual: 0, done: 10\n"+next), r.stderr)
	shows(t, transform.ExitDone, "apply --next --end-state external cluster-00.yaml", "!clusters: ")
}

// The states of very many clusters cost as much as their change.
func TestApplyAndLintOfVeryManyClustersNameTheVerbThatSumsUp(t *testing.T) {
	var stream strings.Builder
	for i := range run.MostSummed + 1 {
		stream.WriteString(small(fmt.Sprint("wharf-", i)) + "---\n")
	}
	here(t, map[string]string{"a.yaml": stream.String()})
	for _, line := range []string{"lint a.yaml", "apply --next --end-state external a.yaml"} {
		shows(t, transform.ExitDone, line, "clusters: 101; rke-lm plan --summary shows their states\n", "!REACHED")
	}
}

// A run over many files reports what is left and what was refused, whatever its code.
func TestTheSummarySeparatesWhatIsLeftFromWhatIsRefused(t *testing.T) {
	here(t, map[string]string{"a.yaml": wharf, "b.yaml": pier, "c.yaml": "kind: [\n", "d.yaml": "kind: [\n"})
	const one, two, none = "clusters: 1; to do: 1, manual: 0, done: 0; refused: 1\n", "clusters: 2; to do: 2, manual: 0, done: 0; refused: 1\n", "!CLUSTER"
	for _, c := range []struct {
		line string
		code int
		want string
	}{
		{"plan --exit-code --end-state external a.yaml b.yaml", transform.ExitFound, "clusters: 2; to do: 2, manual: 0, done: 0\n"},
		{"plan --exit-code --end-state external a.yaml b.yaml c.yaml", transform.ExitInput, two},
		{"plan --end-state external a.yaml c.yaml", transform.ExitInput, one},
		{"lint a.yaml b.yaml c.yaml", transform.ExitInput, two},
		{"apply --stage switch-to-external --through a.yaml b.yaml c.yaml", transform.ExitInput, two},
		{"apply --next --end-state external a.yaml c.yaml", transform.ExitInput, one},
		{"plan c.yaml d.yaml", transform.ExitInput, none}, {"plan --summary c.yaml d.yaml", transform.ExitInput, none}, {"lint c.yaml d.yaml", transform.ExitInput, none}, {"apply --next c.yaml d.yaml", transform.ExitInput, none},
	} {
		r := shows(t, c.code, c.line, c.want)
		assert.Truef(t, c.want != none || strings.Count(r.stderr, "error: ") == 2, "%s: %s", c.line, r.stderr)
	}
}

// A file that is not written leaves its clusters as they were.
func TestTheSummaryShowsWhatWasWritten(t *testing.T) {
	here(t, map[string]string{"a.yaml": wharf + "---\n" + strings.Replace(pier, "cloud-provider-name: aws", "cloud-provider-name: [", 1), "b.yaml": strings.Replace(wharf, "name: wharf", "name: quay", 1)})
	shows(t, transform.ExitInput, "apply --next --end-state external a.yaml b.yaml", " in-tree    -                      grant-migration-lease    -         a.yaml\n",
		" migrating  grant-migration-lease  enable-leader-migration  -         b.yaml\n", "; refused: 1\nnext: rke-lm apply --next --end-state=external a.yaml b.yaml\n")
}

func TestTheMarkdownOfThirtyClustersIsShort(t *testing.T) {
	t.Chdir(thirty(t))
	text := shows(t, transform.ExitDone, "plan -o markdown .", "are left out").stdout
	assert.Truef(t, len(text) <= 60_000 && strings.Count(text, "\n| rke2 fleet-default/cluster-") == 30, "%d bytes\n%.3000s", len(text), text)
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
	const review = "review --base HEAD --end-state external -o "
	for limit, most := range map[string]int{"markdown": 60_000, "markdown --max-bytes 8000": 8000} {
		text := shows(t, transform.ExitFound, review+limit).stdout
		rows, whole := strings.Count(text, "\n| rke2 fleet-default/cluster-"), most > 8000
		assert.Truef(t, len(text) <= most && rows > 0 && (whole || strings.Contains(text, "left out")), "%d bytes\n%.3000s", len(text), text)
		assert.Truef(t, !whole || rows == 25 && strings.Count(text, "| performs ") == 25 && strings.Count(text, "- **error** `") >= 5, "%.3000s", text)
	}
	page := shows(t, transform.ExitFound, review+"html").stdout
	assert.Equal(t, strings.Count(page, "<section "), 25, page)
}

// Later stages decide it, also those that are not shown.
func TestThePlanOfAStageShowsTheSituationOfTheCluster(t *testing.T) {
	here(t, map[string]string{"a.yaml": wharf})
	shows(t, transform.ExitDone, "apply --stage install-ccm --through a.yaml")
	shows(t, transform.ExitDone, "plan --stage install-ccm a.yaml", "\nprovider: aws  situation: migrating\n")
	ha := strings.Replace(textOf(t, "a.yaml"), "    machineGlobalConfig", "    machinePools: [{name: cp, controlPlaneRole: true, etcdRole: true, quantity: 3}, {name: w, workerRole: true, quantity: 3}]\n    machineGlobalConfig", 1)
	putFile(t, "ha.yaml", ha)
	shows(t, transform.ExitDone, "plan --stage cordon-control-plane ha.yaml", "cordon-control-plane  check", "kubectl cordon")
	shows(t, transform.ExitDone, "apply --stage disable-leader-migration --through --end-state aws-override a.yaml")
	shows(t, transform.ExitDone, "plan --stage install-ccm a.yaml", "\nprovider: external  situation: external\n")
}

func TestTheSummaryNamesTheEndStateThatIsTakenUnasked(t *testing.T) {
	here(t, map[string]string{"a.yaml": strings.Replace(wharf, "    machineGlobalConfig", "    machinePools: [{name: all, controlPlaneRole: true, etcdRole: true, workerRole: true}]\n    machineGlobalConfig", 1)})
	const line = "\nend state (clusters: 1): aws-override (external renames nodes); --end-state changes it\n"
	shows(t, transform.ExitDone, "plan --summary a.yaml", line)
	shows(t, transform.ExitDone, "plan --summary --end-state aws-override a.yaml", "!end state (")
	putFile(t, "custom.yaml", strings.Replace(wharf, "v1.26.15+rke2r1", "v1.28.9+rke2r1", 1))
	shows(t, transform.ExitDone, "plan --summary custom.yaml", "\nend state (clusters: 1): aws-override (the host names are not known); --end-state changes it\n")
	putFile(t, "names", "ip-10-0-1-5.ec2.internal ip-10-0-1-5.ec2.internal\n")
	shows(t, transform.ExitDone, "plan --summary --host-names names custom.yaml", "aws-override (it keeps the names); --end-state changes it\n")
}
