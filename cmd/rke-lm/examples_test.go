// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// examplesHere copies examples/ to a repository of its own, and makes the example of a repository
// of clusters the current folder.
func examplesHere(t *testing.T) *history {
	t.Helper()
	source := assert.Value(filepath.Abs("../../examples/gitops"))(t)
	h := newHistory(t)
	assert.NilError(t, os.CopyFS(".", os.DirFS(source)))
	h.commit("clusters")
	return h
}

// documentsOf are those of a YAML file.
func documentsOf(t *testing.T, file string) (list []map[string]any) {
	t.Helper()
	for text := range strings.SplitSeq(textOf(t, file), "\n---\n") {
		var doc map[string]any
		err := yaml.UnmarshalStrict([]byte(text), &doc)
		assert.Mustf(t, err == nil, "%s: %v", file, err)
		list = append(list, doc)
	}
	return list
}

// at follows keys into a document.
func at(t *testing.T, doc map[string]any, keys ...string) any {
	t.Helper()
	var v any = doc
	for _, key := range keys {
		m, is := v.(map[string]any)
		assert.Mustf(t, is && m[key] != nil, "no %s in %v", strings.Join(keys, "."), doc)
		v = m[key]
	}
	return v
}

// Each tool delivers the folder that rke-lm edits.
func TestTheExamplesOfDeliveryNameTheFolderOfTheClusters(t *testing.T) {
	examplesHere(t)
	fleet, argo, flux := documentsOf(t, "fleet/gitrepo.yaml"), documentsOf(t, "argocd/application.yaml"), documentsOf(t, "flux/clusters.yaml")
	for tool, folder := range map[string]any{
		"Fleet": at(t, fleet[0], "spec", "paths").([]any)[0], "Argo CD": at(t, argo[0], "spec", "source", "path"), "Flux": at(t, flux[1], "spec", "path"),
	} {
		r := runHere(t, "", "plan", "--summary", path.Clean(folder.(string)))
		assert.Truef(t, r.code == exitcode.Done && strings.Contains(r.stdout, "clusters: 2; to do: 2, manual: 0, done: 0\n"), "%s: exit %d\n%s%s", tool, r.code, r.stdout, r.stderr)
	}
	assert.True(t, at(t, flux[1], "spec", "sourceRef", "name") == at(t, flux[0], "metadata", "name") && flux[1]["spec"].(map[string]any)["postBuild"] == nil, "Flux takes other files, or changes them")
	r := runHere(t, "", "plan", "--summary", ".")
	assert.Truef(t, strings.Contains(r.stdout, "clusters: 2;") && r.stderr == "configuration: .rke-lm.yaml\n", "other files are taken for clusters:\n%s%s", r.stdout, r.stderr)
}

// The whole migration of the example is one commit for each stage, and each passes the review.
func TestEachStageOfTheExampleIsACommitThatPassesTheReview(t *testing.T) {
	h := examplesHere(t)
	for range 5 {
		h.apply("--next", "clusters/lagoon.yaml")
		r := runHere(t, "", "review", "--base", "HEAD", "clusters")
		assert.Mustf(t, r.code == exitcode.Done, "exit %d\n%s%s", r.code, r.stdout, r.stderr)
		h.commit("a stage")
	}
	r := runHere(t, "", "plan", "--exit-code", "clusters/lagoon.yaml")
	assert.Truef(t, r.code == exitcode.Done, "exit %d\n%s%s", r.code, r.stdout, r.stderr)
}

func TestTerraformDecodesWhatTheFilesHold(t *testing.T) {
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("terraform is not installed")
	}
	examplesHere(t)
	run := func(args ...string) []byte {
		c := exec.Command(terraform, args...)
		c.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_CLI_ARGS=-no-color")
		var stderr bytes.Buffer
		c.Stderr = &stderr
		out, err := c.Output()
		assert.Mustf(t, err == nil, "terraform %v: %v\n%s%s", args, err, out, stderr.String())
		return out
	}
	run("fmt", "-check", "-recursive", "terraform")
	// The provider is not needed to decode the files, and comes from a registry.
	assert.NilError(t, os.Remove("terraform/rancher.tf"))
	must(t, exitcode.Done, "apply", "--through", "--stage", "install-ccm", "clusters/lagoon.yaml")
	run("-chdir=terraform", "init", "-input=false")
	run("-chdir=terraform", "apply", "-auto-approve", "-input=false")
	var got, want map[string]any
	assert.NilError(t, json.Unmarshal(run("-chdir=terraform", "output", "-json", "clusters"), &got))
	want = map[string]any{}
	for _, name := range []string{"lagoon", "quay"} {
		want[name] = documentsOf(t, "clusters/"+name+".yaml")[0]
	}
	assert.DeepEqual(t, got, want, "(-file +terraform)")
}

// inBash runs a script as a CI system does, with this program as rke-lm, and returns what it prints
// and its exit code.
func inBash(t *testing.T, script string, env ...string) (stdout, stderr string, code int) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("bash is not installed")
	}
	c := exec.Command(bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr, c.Env = &out, &errs, append(os.Environ(), env...)
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

// installed is a folder in which this program is rke-lm.
func installed(t *testing.T) string {
	t.Helper()
	self := assert.Value(os.Executable())(t)
	folder := t.TempDir()
	if err := os.Symlink(self, filepath.Join(folder, "rke-lm")); err != nil {
		t.Skip(err)
	}
	return folder
}

// releaseFolder is a folder of releases with one, whose rke-lm is this program.
func releaseFolder(t *testing.T, version string) string {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	name := fmt.Sprintf("rke-lm_%s_%s_%s", version, runtime.GOOS, runtime.GOARCH)
	program := fmt.Sprintf("#!/usr/bin/env bash\nexec -a rke-lm '%s' \"$@\"\n", self)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	assert.NilError(t, w.WriteHeader(&tar.Header{Name: name + "/rke-lm", Mode: 0o755, Size: int64(len(program))}))
	_, err = w.Write([]byte(program))
	for _, err := range []error{err, w.Close(), z.Close()} {
		assert.NilError(t, err)
	}
	folder := t.TempDir()
	putFile(t, filepath.Join(folder, version, name+".tar.gz"), b.String())
	putFile(t, filepath.Join(folder, "release.txt"), fmt.Sprintf("%s\n%x  %s.tar.gz\n", version, sha256.Sum256(b.Bytes()), name))
	return folder
}

// afterRelease makes a folder like the commit after a release of the action the one that runs.
func afterRelease(t *testing.T, releases string) {
	t.Helper()
	folder := t.TempDir()
	assert.NilError(t, os.CopyFS(filepath.Join(folder, "scripts"), os.DirFS(filepath.Join(os.Getenv("RKE_LM_ROOT"), "scripts"))))
	putFile(t, filepath.Join(folder, "action.yml"), textOf(t, filepath.Join(os.Getenv("RKE_LM_ROOT"), "action.yml")))
	putFile(t, filepath.Join(folder, "scripts/ci/release.txt"), textOf(t, filepath.Join(releases, "release.txt")))
	t.Setenv("RKE_LM_ROOT", folder)
}

// githubAction is the action of this repository, as far as the tests run it.
type githubAction struct {
	Inputs map[string]struct {
		Description string
		Default     string
	}
	Runs struct {
		Using string
		Steps []struct {
			If, Shell, Run string
			Env            map[string]string
		}
	}
}

var expression = regexp.MustCompile(`\$\{\{ *inputs\.([a-z]+) *\}\}`)

// runAction runs the steps of the action as GitHub does: each with the folders that the one
// before added to the PATH.
func runAction(t *testing.T, inputs map[string]string) (stdout, stderr, summary string, code int) {
	t.Helper()
	root := os.Getenv("RKE_LM_ROOT")
	var a githubAction
	err := yaml.Unmarshal([]byte(textOf(t, filepath.Join(root, "action.yml"))), &a)
	assert.Mustf(t, err == nil && a.Runs.Using == "composite" && len(a.Runs.Steps) == 2, "%v %+v", err, a)
	work := t.TempDir()
	paths, sum := filepath.Join(work, "path"), filepath.Join(work, "summary")
	putFile(t, paths, "")
	putFile(t, sum, "")
	for _, step := range a.Runs.Steps {
		if step.If == "inputs.version != 'installed'" && inputs["version"] == "installed" {
			continue
		}
		env := []string{"GITHUB_ACTION_PATH=" + root, "RUNNER_TEMP=" + work, "GITHUB_PATH=" + paths, "GITHUB_STEP_SUMMARY=" + sum}
		for name, value := range step.Env {
			env = append(env, name+"="+expression.ReplaceAllStringFunc(value, func(e string) string {
				input := expression.FindStringSubmatch(e)[1]
				_, has := a.Inputs[input]
				assert.Truef(t, has, "the action has no input %s", input)
				return inputs[input]
			}))
		}
		added := strings.ReplaceAll(strings.TrimSpace(textOf(t, paths)), "\n", ":")
		if added != "" {
			env = append(env, "PATH="+added+":"+os.Getenv("PATH"))
		}
		var out, said string
		out, said, code = inBash(t, step.Run, env...)
		stdout, stderr = stdout+out, stderr+said
		if code != 0 {
			break
		}
	}
	return stdout, stderr, textOf(t, sum), code
}

// rooted remembers where the repository of rke-lm is, before the current folder changes.
func rooted(t *testing.T) string {
	t.Helper()
	root := assert.Value(filepath.Abs("../.."))(t)
	t.Setenv("RKE_LM_ROOT", root)
	return root
}

func TestTheActionReviewsAPullRequest(t *testing.T) {
	rooted(t)
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	h := examplesHere(t)
	releases := releaseFolder(t, "v0.1.0")
	afterRelease(t, releases)
	inputs := map[string]string{"base": "HEAD", "paths": "clusters", "url": "file://" + releases}
	h.apply("--next", "clusters/lagoon.yaml")
	out, said, summary, code := runAction(t, inputs)
	assert.Truef(t, code == 0 && !strings.Contains(out, "::error") && strings.Contains(summary, "performs grant-migration-lease"), "a good change: exit %d\n%s%s%s", code, out, said, summary)
	h.replace("clusters/quay.yaml", "cloud-provider-name: aws", "cloud-provider-name: external")
	out, said, summary, code = runAction(t, inputs)
	assert.Truef(t, code == exitcode.Found && strings.Contains(out, "::error file=clusters/quay.yaml,line=") && strings.Contains(summary, "| rke2 fleet-default/quay |"), "a bad change: exit %d\n%s%s%s", code, out, said, summary)
	// Each line is one word, and no path is a flag.
	putFile(t, "--color=wrong", "")
	t.Setenv("PATH", installed(t)+":"+os.Getenv("PATH"))
	inputs["version"], inputs["paths"], inputs["flags"] = "installed", "clusters/lagoon.yaml\n--color=wrong", "--exclude=quay.yaml\n"
	if out, said, _, code = runAction(t, inputs); code != exitcode.Done || strings.Contains(out, "quay") {
		t.Errorf("exit %d\n%s%s", code, out, said)
	}
	inputs["base"] = ""
	if _, said, _, code = runAction(t, inputs); code == 0 || !strings.Contains(said, "the base is not set") {
		t.Errorf("exit %d\n%s", code, said)
	}
}

func TestTheActionInstallsOnlyTheReleaseOfItsCommit(t *testing.T) {
	root := rooted(t)
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	examplesHere(t)
	releases := releaseFolder(t, "v0.1.0")
	inputs := map[string]string{"base": "HEAD", "url": "file://" + releases}
	refused := func(why string) {
		t.Helper()
		out, said, _, code := runAction(t, inputs)
		assert.Truef(t, code != 0 && strings.Contains(said, why), "exit %d\n%s%s", code, out, said)
	}
	if _, err := os.Stat(filepath.Join(root, "scripts/ci/release.txt")); err != nil {
		refused("this commit is not the one after a release")
	}
	afterRelease(t, releases)
	out, said, _, code := runAction(t, inputs)
	assert.Truef(t, code == 0, "exit %d\n%s%s", code, out, said)
	inputs["version"] = "v0.2.0"
	refused("the release of this commit is v0.1.0, not v0.2.0")
	inputs["version"] = "v0.1.0"
	archives, err := filepath.Glob(filepath.Join(releases, "v0.1.0", "*.tar.gz"))
	assert.Must(t, err == nil && len(archives) == 1, archives, err)
	// The place has another archive with its own sums.
	putFile(t, archives[0], textOf(t, archives[0])+"more")
	putFile(t, filepath.Join(releases, "v0.1.0", "checksums.txt"), fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(textOf(t, archives[0]))), filepath.Base(archives[0])))
	refused("does not have the checksum of the release; nothing was installed")
}

// A tag and a branch can be moved, a commit cannot.
func TestActionsAndHooksAreNamedByCommits(t *testing.T) {
	root := rooted(t)
	uses, commit := regexp.MustCompile(`(?m)^.*(?:\buses: |\brev: ).*$`), regexp.MustCompile(`(?:@|rev: "?)[0-9a-f]{40}"? #`)
	for _, glob := range []string{"examples/ci/*.yaml", "docs/*.md", "README.md"} {
		files, err := filepath.Glob(filepath.Join(root, glob))
		assert.Must(t, err == nil && len(files) != 0, glob, err)
		for _, file := range files {
			for _, line := range uses.FindAllString(textOf(t, file), -1) {
				assert.Truef(t, commit.MatchString(line), "%s: %s", file, line)
			}
		}
	}
}

func TestTheGitLabJobReviewsAMergeRequest(t *testing.T) {
	root := rooted(t)
	if _, err := exec.LookPath("curl"); err != nil || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the job is for curl on linux/amd64")
	}
	var jobs map[string]struct {
		Variables            map[string]string
		BeforeScript, Script []string
	}
	text := strings.ReplaceAll(textOf(t, filepath.Join(root, "examples/ci/gitlab.yaml")), "before_script:", "beforeScript:")
	assert.NilError(t, yaml.Unmarshal([]byte(text), &jobs))
	job := jobs["rke-lm-review"]
	releases := releaseFolder(t, job.Variables["RKE_LM_VERSION"])
	for name, c := range map[string]struct {
		change func(h *history)
		code   int
		report string
	}{
		"good": {func(h *history) { h.apply("--next", "clusters/lagoon.yaml") }, exitcode.Done, `failures="0"`},
		"bad": {func(h *history) {
			h.apply("--through", "--stage", "enable-leader-migration", "clusters/lagoon.yaml")
		}, exitcode.Found, `failures="1"`},
	} {
		t.Run(name, func(t *testing.T) {
			h := examplesHere(t)
			h.git("checkout", "--quiet", "-b", "change")
			c.change(h)
			h.commit("change")
			h.git("remote", "add", "origin", h.folder)
			env := []string{"CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main"}
			for key, value := range job.Variables {
				env = append(env, key+"="+value)
			}
			env = append(env, "RKE_LM_URL=file://"+releases, "RKE_LM_SHA256="+strings.Fields(textOf(t, filepath.Join(releases, "release.txt")))[1])
			out, said, code := inBash(t, strings.Join(append(job.BeforeScript, job.Script...), "\n"), env...)
			if code != c.code || !strings.Contains(textOf(t, "rke-lm.xml"), c.report) || !strings.Contains(out, "lagoon") {
				t.Errorf("exit %d\n%s%s%s", code, out, said, textOf(t, "rke-lm.xml"))
			}
		})
	}
}

// hooks are those of .pre-commit-hooks.yaml.
type hook struct{ ID, Entry, Language, Files string }

func TestTheHooksLintTheFilesOfACommit(t *testing.T) {
	root := rooted(t)
	var hooks []hook
	err := yaml.Unmarshal([]byte(textOf(t, filepath.Join(root, ".pre-commit-hooks.yaml"))), &hooks)
	assert.Must(t, err == nil && len(hooks) == 2, err, hooks)
	examplesHere(t)
	t.Setenv("PATH", installed(t)+":"+os.Getenv("PATH"))
	for _, h := range hooks {
		files := regexp.MustCompile(h.Files)
		assert.Truef(t, files.MatchString("clusters/a.yml") && files.MatchString("a.json") && !files.MatchString("a.yaml.txt"), "%s takes other files: %s", h.ID, h.Files)
		out, said, code := inBash(t, h.Entry+" clusters/lagoon.yaml fleet/gitrepo.yaml")
		assert.Truef(t, code == exitcode.Done && strings.Contains(out+said, "errors: 0"), "%s: exit %d\n%s%s", h.ID, code, out, said)
		out, said, code = inBash(t, h.Entry+" fleet/gitrepo.yaml")
		assert.Truef(t, code == exitcode.Done, "%s: exit %d\n%s%s", h.ID, code, out, said)
		putFile(t, "bad.yaml", strings.Replace(textOf(t, "clusters/quay.yaml"), "cloud-provider-name: aws", "cloud-provider-name: aws\n      cloud-provider-config: secret://fleet-default:missing\n      kube-controller-manager-arg: [cloud-provider=aws, cloud-provider=external]", 1))
		out, said, code = inBash(t, h.Entry+" --target-version v1.27.16+rke2r1 bad.yaml")
		assert.Truef(t, code == exitcode.Found, "%s: exit %d\n%s%s", h.ID, code, out, said)
	}
	var config struct {
		Repos []struct {
			Repo  string
			Hooks []hook
		}
	}
	err = yaml.Unmarshal([]byte(textOf(t, filepath.Join(root, "examples/ci/pre-commit.yaml"))), &config)
	assert.Truef(t, err == nil && len(config.Repos) == 1 && config.Repos[0].Hooks[0].ID == hooks[0].ID, "%v %+v", err, config)
}

// The workflow gives the action inputs that it has.
func TestTheWorkflowUsesInputsOfTheAction(t *testing.T) {
	root := rooted(t)
	var a githubAction
	assert.NilError(t, yaml.Unmarshal([]byte(textOf(t, filepath.Join(root, "action.yml"))), &a))
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]any
			}
		}
	}
	assert.NilError(t, yaml.Unmarshal([]byte(textOf(t, filepath.Join(root, "examples/ci/github.yaml"))), &workflow))
	steps := workflow.Jobs["review"].Steps
	assert.Must(t, len(steps) == 2 && steps[0].With["fetch-depth"] == float64(0) && strings.HasPrefix(steps[1].Uses, "rke-lm/rke-lm@"), steps)
	for input := range steps[1].With {
		_, has := a.Inputs[input]
		assert.Truef(t, has, "the action has no input %s", input)
	}
}
