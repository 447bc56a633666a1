// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// wharf is a cluster in which the reverse of every stage is determined.
const wharf = `apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata:
  name: wharf
  namespace: fleet-default
spec:
  kubernetesVersion: v1.26.15+rke2r1
  rkeConfig:
    additionalManifest: |
      kind: ConfigMap
      metadata: {name: some, namespace: demo}
    etcd: {snapshotScheduleCron: 0 */5 * * *, snapshotRetention: 5}
    machineGlobalConfig:
      cloud-provider-name: aws # for now
      kube-controller-manager-arg: [v=2, profiling=false]
`

// pier is another cluster, for the same file.
var pier = strings.ReplaceAll(wharf, "wharf", "pier")

// here makes a folder with these files the current one.
func here(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		putFile(t, name, text)
	}
}

func putFile(t *testing.T, name, text string) {
	t.Helper()
	assert.NilError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	assert.NilError(t, os.WriteFile(name, []byte(text), 0o644))
}

func textOf(t *testing.T, name string) string {
	t.Helper()
	return string(assert.Value(os.ReadFile(name))(t))
}

// planned plans files here, and returns the runbook of the first cluster.
func planned(t *testing.T, files map[string]string, line string) string {
	t.Helper()
	here(t, files)
	shows(t, transform.ExitDone, "plan --end-state external --out plans "+line)
	return runbooks(t)[0]
}

func TestPlanOutWritesAFolderForEachCluster(t *testing.T) {
	planned(t, map[string]string{"c.yaml": wharf + "---\n" + pier}, "c.yaml")
	for _, cluster := range []string{"wharf", "pier"} {
		folder := filepath.Join("plans", "fleet-default", cluster)
		names := lists.Map(assert.Value(os.ReadDir(folder))(t), os.DirEntry.Name)
		want := []string{
			".gitignore", "00-start.yaml", "01-grant-migration-lease.diff", "01-grant-migration-lease.yaml", "02-enable-leader-migration.diff", "02-enable-leader-migration.yaml",
			"03-install-ccm.diff", "03-install-ccm.yaml", "05-switch-to-external.diff", "05-switch-to-external.yaml",
			"07-disable-leader-migration.diff", "07-disable-leader-migration.yaml", "aws-ccm-policy.json", "aws-ccm-values.yaml", "aws-node-policy.json", "plan.json", "runbook.md",
		}
		assert.DeepEqual(t, names, want, cluster)
	}
}

func TestStagedDocumentsAreWhatApplyWrites(t *testing.T) {
	planned(t, map[string]string{"c.json": `{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"slip","namespace":"ns"},"spec":{"kubernetesVersion":"v1.26.15+rke2r1","rkeConfig":{"machineGlobalConfig":{"cloud-provider-name":"aws"}}}}`, "c.yaml": "# head\n---\n" + wharf + "# tail\n"}, "c.yaml c.json")
	for file, folder := range map[string]string{"c.yaml": "plans/fleet-default/wharf/", "c.json": "plans/ns/slip/"} {
		for _, stage := range stages.Names() {
			if !slices.Contains(stages.UndoNames(), stage) {
				continue
			}
			want := shows(t, transform.ExitDone, "apply --end-state external --through --stage "+stage+" --stdout "+file).stdout
			staged, _ := filepath.Glob(folder + "0?-" + stage + filepath.Ext(file))
			if got := textOf(t, strings.Join(staged, " ")); got != want {
				t.Errorf("%s: %s", stage, cmp.Diff(want, got))
			}
		}
	}
}

var applyCommand = regexp.MustCompile(`(?m)^rke-lm (apply .*)$`)

// TestTheRunbookCanBeFollowed runs the commands of a runbook in their order, and
// its undo commands in reverse.
func TestTheRunbookCanBeFollowed(t *testing.T) {
	book := planned(t, map[string]string{"c.yaml": "a: neighbour\n---\n" + wharf}, "c.yaml")
	var back []string
	for _, m := range applyCommand.FindAllStringSubmatch(book, -1) {
		if strings.Contains(m[1], " --undo ") {
			back = append(back, m[1])
			continue
		}
		shows(t, transform.ExitDone, m[1])
	}
	assert.Truef(t, strings.HasSuffix(textOf(t, "c.yaml"), textOf(t, "plans/fleet-default/wharf/07-disable-leader-migration.yaml")) && len(back) == 5, "%d ways back from\n%s", len(back), textOf(t, "c.yaml"))
	for _, line := range slices.Backward(back) {
		shows(t, transform.ExitDone, line)
	}
	assert.DeepEqual(t, textOf(t, "c.yaml"), "a: neighbour\n---\n"+wharf)
}

// In a repository the commands are the same in every clone.
func TestTheRunbookOfARepositoryHasNoAbsolutePath(t *testing.T) {
	for _, c := range []struct{ from, out, file, start string }{
		{".", "plans", "clusters/c.yaml", "the top folder of the repository"},
		{"clusters", "../plans", "c.yaml", "the folder clusters of the repository"},
	} {
		here(t, map[string]string{"clusters/c.yaml": wharf, ".git/HEAD": ""})
		t.Chdir(c.from)
		shows(t, transform.ExitDone, "plan --end-state external --out "+c.out+" "+c.file)
		book := textOf(t, c.out+"/fleet-default/wharf/runbook.md")
		for _, want := range []string{"Run the commands in " + c.start + ": ", "rke-lm apply --plan " + c.out + "/fleet-default/wharf --stage grant-migration-lease " + c.file + "\n", " replace -f " + c.out + "/", " file://" + c.out + "/fleet-default/wharf/aws-ccm-policy.json\n"} {
			assert.Contains(t, book, want, "it does not say")
		}
		i := strings.Index(book, t.TempDir()[:len(os.TempDir())+1])
		assert.Truef(t, i < 0, "it names the machine:\n%s", book)
		shows(t, transform.ExitDone, applyCommand.FindStringSubmatch(book)[1])
	}
	book := planned(t, map[string]string{"c.yaml": wharf, "r/.git/HEAD": ""}, "c.yaml")
	assert.True(t, strings.Contains(book, "paths are those of that machine") && strings.Contains(book, " --plan /"), book)
}

// A stage that the plan does not have takes no number.
func TestAPlanAndItsRunbookNumberStagesAlike(t *testing.T) {
	here(t, map[string]string{"c.yaml": wharf})
	r := shows(t, transform.ExitDone, "plan --end-state external --cordon never --out plans c.yaml")
	shown := regexp.MustCompile(`(?m)^ +(\d+) +([a-z-]+)  `).FindAllStringSubmatch(r.stdout, -1)
	listed := regexp.MustCompile(`(?m)^\| (\d+) \| ([a-z-]+) \|`).FindAllStringSubmatch(textOf(t, "plans/fleet-default/wharf/runbook.md"), -1)
	assert.Mustf(t, len(shown) == len(listed) && len(shown) >= 5, "%d stages, and %d in the runbook", len(shown), len(listed))
	for i, s := range shown {
		n := fmt.Sprint(i + 1)
		assert.Truef(t, s[1] == n && listed[i][1] == "0"+n && s[2] == listed[i][2], "%v is %v in the runbook", s[1:], listed[i][1:])
	}
}

// Each stage with something to do ends with a gate, and every command has a box to check.
func TestEveryStageOfTheRunbookHasAGate(t *testing.T) {
	_, book, _ := strings.Cut(planned(t, map[string]string{"c.yaml": wharf}, "--cordon always c.yaml"), "\n## 01 ")
	for part := range strings.SplitSeq(book, "\n## ") {
		name, text, _ := strings.Cut(part, "\n")
		stage := name[strings.LastIndex(name, " ")+1:]
		gate := "```sh\nrke-lm verify --context=\"${CONTEXT:?}\" --stage " + stage + " --wait 60m\n```\n\n```text\n"
		assert.Truef(t, strings.Count(text, "**Gate.** Afterwards ") == 1 && strings.Count(text, gate) == 1, "%s has no gate\n%s", stage, text)
		manual := strings.Count(text, "\nManually: put ") // its commands are another way to do the same
		if boxes, commands := strings.Count(text, "\n- [ ] "), strings.Count(text, "\n```sh\n"); boxes < commands-manual || boxes == 0 {
			t.Errorf("%s: %d boxes for %d commands", stage, boxes, commands)
		}
	}
}

func TestTheRunbookHasAllOfAStage(t *testing.T) {
	book := planned(t, map[string]string{"my cluster.yaml": wharf}, "--target-version v1.26.16+rke2r1 --cordon always 'my cluster.yaml'")
	for _, want := range []string{
		"# Runbook: rke2 fleet-default/wharf\n", "| 05 | switch-to-external | to do |", "## 01 grant-migration-lease\n", "**Why.** By default kube-controller-manager has no permission on the migration lease",
		"`01-grant-migration-lease.diff` has the diff", "- line 15, `spec.rkeConfig.machineGlobalConfig.kube-controller-manager-arg`", "'/", "my cluster.yaml'\n",
		"`aws-ccm-values.yaml` is for the stage", "**Before.**\n\n- [ ] before the edit, the cloud-controller-manager must run", "**After.**\n\n- [ ] on Rancher's own cluster, wait",
		"**Check.**\n\n- [ ] the answer must be yes:\n\n```sh\nkubectl --context=\"${CONTEXT:?}\" -n kube-system auth can-i update leases/", "Manually: put `03-install-ccm.yaml` in the place of the document",
		"**After the undo.**\n\n- [ ] this must list nothing", "**Undo.** Undo later stages first. ", " The undo writes v1.26.15+rke2r1 into the file again, but Kubernetes cannot be downgraded",
		"## 04 cordon-control-plane\n", "**Do.**\n\n- [ ] cordon the control planes", "**Undo.**\n\n- [ ] uncordon",
	} {
		assert.Contains(t, book, want, "it does not say")
	}
}

// A manager without its flag would be a second owner, so its undone manifest stays out of the cluster.
func TestTheRunbookTakesAManagerOutBeforeItsUndo(t *testing.T) {
	book := planned(t, map[string]string{"manifests/c.yaml": golden.Input(t, "manifest-cloud-static-pod").Text()}, "manifests/c.yaml")
	_, stage, _ := strings.Cut(book, "## 03 install-ccm")
	_, undo, _ := strings.Cut(stage, "**Before the undo.**")
	for _, want := range []string{"remove the manager, and do not start it again: without the flag it would run the cloud controllers at the same time as kube-controller-manager", "rm /etc/kubernetes/manifests/cloud-controller-manager.yaml", "**Undo.**", "Keep the file where it is, and do not apply it to the cluster.", "**After the undo.**"} {
		var found bool
		if _, undo, found = strings.Cut(undo, want); !found {
			t.Fatalf("it does not say, or not in this order: %s\n%s", want, stage)
		}
	}
}

func TestBlockedStagesSayWhyInTheRunbook(t *testing.T) {
	here(t, map[string]string{"c.yaml": wharf})
	shows(t, transform.ExitDone, "plan --out plans c.yaml")
	book := textOf(t, "plans/fleet-default/wharf/runbook.md")
	assert.True(t, strings.Contains(book, "- **error** `node-rename`") && strings.Contains(book, "**These errors block the stage.**"), book)
	shows(t, transform.ExitDone, "apply --plan plans --stage install-ccm --through c.yaml")
	before := textOf(t, "c.yaml")
	shows(t, transform.ExitFound, "apply --plan plans --next c.yaml", "stage switch-to-external is blocked by the errors above; correct them, or accept them with --accept node-rename; then plan again with --out")
	assert.Equal(t, textOf(t, "c.yaml"), before, "the file was written")
}

func TestDiffsInAPlanFolderHoldNoSecrets(t *testing.T) {
	const secret = "hunter2hunter2"
	planned(t, map[string]string{"c.yaml": strings.Replace(wharf, "etcd:", "registries: {configs: {r: {auth: {password: "+secret+"}}}}\n    etcd:", 1)}, "c.yaml")
	folder := "plans/fleet-default/wharf/"
	for _, name := range []string{"01-grant-migration-lease.diff", "05-switch-to-external.diff", "runbook.md", "aws-ccm-values.yaml"} {
		assert.Truef(t, !strings.Contains(textOf(t, folder+name), secret), "%s holds a secret", name)
	}
	assert.Contains(t, textOf(t, folder+"05-switch-to-external.yaml"), secret, "the document after a stage is not the cluster's")
}

func TestPlanFoldersMustNotBeFoundAsClusters(t *testing.T) {
	here(t, map[string]string{"clusters/c.yaml": wharf})
	for _, dir := range []string{"clusters/plans", "clusters", "clusters/a/../plans"} {
		shows(t, transform.ExitInput, "plan clusters --out "+dir, "it is in clusters, where its documents would be read as clusters")
	}
	for _, dir := range []string{"clusters/.plans", "plans", "clusters/../clusters-plans"} {
		shows(t, transform.ExitDone, "plan clusters --out "+dir)
	}
}

func TestTwoClustersOfOneNameCannotShareAFolder(t *testing.T) {
	here(t, map[string]string{"a.yaml": wharf, "b/b.yaml": wharf})
	shows(t, transform.ExitRefused, "plan --out plans a.yaml b/b.yaml", "error: b/b.yaml, document 1 (fleet-default/wharf): the folder plans/fleet-default/wharf has the plan of a.yaml, document 1 (fleet-default/wharf); use a different --out for each")
}

// A plan is replaced as a whole: with it goes what undoes its stages.
func TestAPlanThatIsStillNeededIsReplacedOnlyOnRequest(t *testing.T) {
	const again, plan = "plan --end-state external --out plans c.yaml", "plans/fleet-default/wharf/plan.json"
	planned(t, map[string]string{"c.yaml": wharf}, "c.yaml")
	r := shows(t, transform.ExitDone, again)
	assert.True(t, strings.HasSuffix(r.stdout, "\nrunbook: plans/fleet-default/wharf/runbook.md\nnext: rke-lm apply --plan plans --next c.yaml\n"), r.stdout)
	assert.Equal(t, textOf(t, "plans/fleet-default/wharf/.gitignore"), "*\n", "git would take the folder")
	putFile(t, "c.yaml", strings.Replace(wharf, "# for now", "# until later", 1))
	shows(t, transform.ExitDone, again) // nothing is done, and no plan is of use to another document
	for _, c := range []struct{ more, want string }{
		{" --cordon never", "error: plans/fleet-default/wharf: its plan was made with other choices; use another folder with --out, or add --replace"},
		{" --accept ccm-not-in-file", "its plan was made with other choices"},
		{"", "error: plans/fleet-default/wharf: grant-migration-lease is done, and only its plan undoes it to the same bytes; use another folder with --out, or add --replace"},
	} {
		if c.more == "" {
			shows(t, transform.ExitDone, "apply --plan plans --next c.yaml")
		}
		before := textOf(t, plan)
		shows(t, transform.ExitRefused, again+c.more, c.want)
		assert.Equal(t, textOf(t, plan), before, "the plan was replaced")
	}
	shows(t, transform.ExitDone, again+" --replace")
	before := textOf(t, "c.yaml")
	shows(t, transform.ExitDone, "apply --plan plans --undo grant-migration-lease c.yaml")
	assert.Equal(t, textOf(t, "c.yaml"), before, "the old plan is still there")
}

func TestASavedPlanIsAppliedToItsDocumentAlone(t *testing.T) {
	for _, c := range []struct {
		name, file string
		code       int
		want       string
	}{
		{"as it was", wharf, transform.ExitDone, "c.yaml: fleet-default/wharf: grant-migration-lease"},
		{"after a new document", "kind: Other\n---\n" + wharf, transform.ExitDone, "grant-migration-lease"},
		{"in front of a new cluster", wharf + "---\n" + strings.ReplaceAll(wharf, "wharf", "quay"), transform.ExitDone, "c.yaml: fleet-default/quay: not in the plan"},
		{"in front of a cluster that changed", wharf + "---\n" + strings.Replace(pier, "v=2", "v=3", 1), transform.ExitRefused, "error: c.yaml:17: document 2 (fleet-default/pier) has changed since it was planned; plan it again with --out, and use that plan"},
		{"in front of a cluster that cannot be read", wharf + "---\n" + strings.Replace(pier, "kind: Cluster", "kind: Cluster\nkind: Cluster", 1), transform.ExitInput, "is duplicated in one mapping"},
		{"changed", strings.Replace(wharf, "v=2", "v=3", 1), transform.ExitRefused, "error: c.yaml:1: document 1 (fleet-default/wharf) has changed since it was planned"},
		{"with another comment", strings.Replace(wharf, "for now", "still", 1), transform.ExitRefused, "changed since it was planned"},
		{"under another name", strings.ReplaceAll(wharf, "wharf", "quay"), transform.ExitRefused, "error: plans: it has no plan for these clusters; plan them with --out, or use other files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			planned(t, map[string]string{"c.yaml": wharf + "---\n" + pier}, "c.yaml")
			putFile(t, "c.yaml", c.file)
			shows(t, c.code, "apply --plan plans --next c.yaml", c.want)
			want := c.file
			if strings.Contains(c.file, wharf) {
				want = strings.Replace(c.file, wharf, textOf(t, "plans/fleet-default/wharf/01-grant-migration-lease.yaml"), 1)
			}
			assert.DeepEqual(t, textOf(t, "c.yaml"), want)
		})
	}
}

func TestStagesOfASavedPlanComeInTheirOrder(t *testing.T) {
	planned(t, map[string]string{"c.yaml": wharf}, "c.yaml")
	shows(t, transform.ExitRefused, "apply --plan plans --stage install-ccm c.yaml", "grant-migration-lease comes before install-ccm and is not done; apply it first, or add --through")
	shows(t, transform.ExitDone, "apply --plan plans --stage install-ccm --through c.yaml")
	const undo = "apply --plan plans --undo grant-migration-lease c.yaml"
	shows(t, transform.ExitRefused, undo, "install-ccm comes after grant-migration-lease and is still in the file; undo it first, or add --through")
	shows(t, transform.ExitDone, "apply --plan plans --undo switch-to-external c.yaml", "nothing to do")
	shows(t, transform.ExitDone, undo+" --through --dry-run", "install-ccm, enable-leader-migration, grant-migration-lease undone, would be written\n", "-      kind: HelmChart")
	assert.Equal(t, shows(t, transform.ExitDone, undo+" --through --stdout").stdout, wharf)
	assert.Equal(t, textOf(t, "c.yaml"), textOf(t, "plans/fleet-default/wharf/03-install-ccm.yaml"), "the file was written")
}

func TestASavedPlanWorksOnStreams(t *testing.T) {
	here(t, nil)
	runHere(t, wharf, "plan", "--out", "plans", "-").shows(t, "plan", transform.ExitDone)
	assert.Contains(t, runbooks(t)[0], "--stage grant-migration-lease - < cluster.yaml > changed.yaml")
	next := runHere(t, wharf, "apply", "--plan", "plans", "--next", "-")
	assert.Equal(t, next.stdout, textOf(t, "plans/fleet-default/wharf/01-grant-migration-lease.yaml"), next)
	back := runHere(t, next.stdout, "apply", "--plan", "plans/fleet-default/wharf", "--undo", "grant-migration-lease", "-")
	assert.Equal(t, back.stdout, wharf, back)
}

func TestASavedPlanHoldsItsChoices(t *testing.T) {
	planned(t, map[string]string{"c.yaml": wharf, "choices.yaml": "end-state: aws-override\n"}, "c.yaml")
	shows(t, transform.ExitInput, "apply --plan plans --next --end-state external c.yaml", "--end-state cannot be used with --plan, which has the choices of the saved plan")
	shows(t, transform.ExitDone, "apply --plan plans --next --config choices.yaml c.yaml")
	shows(t, transform.ExitInput, "apply --plan missing --next c.yaml", "missing: no such plan folder; use one from plan --out")
}

func TestUndoWithoutAPlanUndoesWhatTheFileShows(t *testing.T) {
	here(t, map[string]string{"c.yaml": wharf})
	shows(t, transform.ExitDone, "apply --end-state external --through --stage disable-leader-migration c.yaml")
	final := textOf(t, "c.yaml")
	shows(t, transform.ExitRefused, "apply --undo install-ccm c.yaml", "disable-leader-migration comes after install-ccm and is still in the file; undo it first, or add --through")
	shows(t, transform.ExitDone, "apply --undo switch-to-external --through --dry-run c.yaml", "+      cloud-provider-name: aws # for now\n")
	assert.Equal(t, textOf(t, "c.yaml"), final)
	for _, stage := range []string{"disable-leader-migration", "switch-to-external", "install-ccm", "enable-leader-migration", "grant-migration-lease"} {
		shows(t, transform.ExitDone, "apply --undo "+stage+" c.yaml", "c.yaml: fleet-default/wharf: "+stage+" undone, written\n")
	}
	assert.DeepEqual(t, textOf(t, "c.yaml"), wharf)
	shows(t, transform.ExitDone, "apply --undo grant-migration-lease c.yaml", "nothing to do")
}

func TestUndoRefusesWhatTheFileDoesNotShowAndStatesTheRemedies(t *testing.T) {
	here(t, map[string]string{"c.yaml": small("wharf")})
	shows(t, transform.ExitDone, "apply --next c.yaml")
	granted := textOf(t, "c.yaml")
	shows(t, transform.ExitRefused, "apply --undo grant-migration-lease c.yaml", "it contains nothing else, and was either absent or empty before; the file does not show which; undo it with its plan folder (--plan), or restore the file from git, or add --canonical for the usual form")
	assert.Equal(t, textOf(t, "c.yaml"), granted, "the file was written")
	shows(t, transform.ExitDone, "apply --undo grant-migration-lease --canonical c.yaml")
	assert.DeepEqual(t, textOf(t, "c.yaml"), small("wharf"))
}

func TestAConfigHoldsTheFlagsOfChoice(t *testing.T) {
	here(t, map[string]string{"c.yaml": wharf, "override.yaml": "end-state: aws-override\naccept: [node-rename]\n", "typo.yaml": "# ours\nend-stat: external\n", "wrong.yaml": "end-state: outside\n", "empty.yaml": "cordon: \"\"\nrbac: \"\"\n"})
	const override = "+        - cloud-provider=external"
	shows(t, transform.ExitDone, "plan --all --config override.yaml c.yaml", override)
	shows(t, transform.ExitDone, "--config override.yaml plan --all c.yaml", override)
	shows(t, transform.ExitDone, "plan --all --config override.yaml --end-state external c.yaml", "!"+override)
	shows(t, transform.ExitDone, "version --config override.yaml")
	shows(t, transform.ExitDone, "plan --config empty.yaml --leader-migration-config= c.yaml")
	shows(t, transform.ExitInput, "plan --config typo.yaml c.yaml", "error: typo.yaml:2: end-stat: not a migration option; did you mean end-state?")
	shows(t, transform.ExitInput, "plan --config wrong.yaml c.yaml", "--end-state outside is not known; use one of external, aws-override")
}

// TestEveryChoiceCanBeInAConfig holds the flags of plan to those of a file.
func TestEveryChoiceCanBeInAConfig(t *testing.T) {
	kinds := choiceKinds()
	for _, name := range []string{"distro", "end-state", "target-version", "assume-version", "chart-version", "chart-repo", "ccm-image-repository", "ccm-image-tag", "keep-leader-migration", "no-leader-migration", "cordon", "accept", "exclude", "skip-unknown"} {
		assert.Truef(t, kinds[name] != "", "--%s is missing", name)
	}
	for _, name := range []string{"out", "output", "stage", "plan", "canonical", "config"} {
		assert.Truef(t, kinds[name] == "", "--%s is no choice", name)
	}
}

// A plan that an earlier release has saved chose external, which was an answer then.
func TestASavedPlanThatRenamesNodesStopsBeforeTheSwitch(t *testing.T) {
	here(t, map[string]string{"wharf.yaml": wharf + "    machinePools: [{name: servers, controlPlaneRole: true, etcdRole: true}]\n"})
	shows(t, transform.ExitDone, "plan --out plans --end-state external --accept node-rename wharf.yaml")
	saved := "plans/fleet-default/wharf/plan.json"
	text := textOf(t, saved)
	assert.Must(t, strings.Contains(text, `"accepted": true`) && strings.Contains(text, `"accept": [`), text)
	putFile(t, saved, strings.ReplaceAll(text, `"node-rename"`, `"address-flapping"`))
	shows(t, transform.ExitDone, "apply --plan plans --stage install-ccm --through wharf.yaml")
	shows(t, transform.ExitFound, "apply --plan plans --stage switch-to-external wharf.yaml", "external renames every node of the machine pools servers")
	assert.True(t, !strings.Contains(textOf(t, "wharf.yaml"), "cloud-provider-name: external"), "the switch is written")
}
