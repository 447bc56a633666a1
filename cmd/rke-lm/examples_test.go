// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
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
	"github.com/rke-lm/rke-lm/transform"
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
func documentsOf[T any](t *testing.T, file string) (list []T) {
	t.Helper()
	for text := range strings.SplitSeq(textOf(t, file), "\n---\n") {
		var doc T
		err := errors.Join(yaml.UnmarshalStrict([]byte(text), new(any)), yaml.Unmarshal([]byte(text), &doc))
		assert.Mustf(t, err == nil, "%s: %v", file, err)
		list = append(list, doc)
	}
	return list
}

// Each tool delivers the folder that rke-lm edits.
func TestTheExamplesOfDeliveryNameTheFolderOfTheClusters(t *testing.T) {
	examplesHere(t)
	fleet, argo, flux := documentsOf[map[string]any](t, "fleet/gitrepo.yaml"), documentsOf[map[string]any](t, "argocd/application.yaml"), documentsOf[map[string]any](t, "flux/clusters.yaml")
	for _, folder := range []any{field(fleet[0], "spec", "paths").([]any)[0], field(argo[0], "spec", "source", "path"), field(flux[1], "spec", "path")} {
		shows(t, transform.ExitDone, "plan --summary "+path.Clean(folder.(string)), "clusters: 2; to do: 2, manual: 0, done: 0\n")
	}
	assert.True(t, field(flux[1], "spec", "sourceRef", "name") == field(flux[0], "metadata", "name") && field(flux[1], "spec", "postBuild") == nil, "Flux takes other files, or changes them")
	r := shows(t, transform.ExitDone, "plan --summary .", "clusters: 2;")
	assert.Equal(t, r.stderr, "configuration: .rke-lm.yaml\n", "other files are taken for clusters")
}

// The whole migration of the example is one commit for each stage, and each passes the review.
func TestEachStageOfTheExampleIsACommitThatPassesTheReview(t *testing.T) {
	h := examplesHere(t)
	for range 5 {
		h.apply("--next", "clusters/lagoon.yaml")
		shows(t, transform.ExitDone, "review --base HEAD clusters")
		h.commit("a stage")
	}
	shows(t, transform.ExitDone, "plan --exit-code clusters/lagoon.yaml")
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
	shows(t, transform.ExitDone, "apply --through --stage install-ccm clusters/lagoon.yaml")
	run("-chdir=terraform", "init", "-input=false")
	run("-chdir=terraform", "apply", "-auto-approve", "-input=false")
	want := map[string]any{}
	for _, name := range []string{"lagoon", "quay"} {
		want[name] = documentsOf[any](t, "clusters/"+name+".yaml")[0]
	}
	got := decoded[map[string]any](t, string(run("-chdir=terraform", "output", "-json", "clusters")))
	assert.DeepEqual(t, got, want, "(-file +terraform)")
}

// inBash runs a script as a CI system does, with this program as rke-lm, and returns what it prints
// and its exit code.
func inBash(t *testing.T, script string, env ...string) ran {
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
	return ran{out.String(), errs.String(), c.ProcessState.ExitCode()}
}

// installed is a folder in which this program is rke-lm.
func installed(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Symlink(assert.Value(os.Executable())(t), filepath.Join(folder, "rke-lm")); err != nil {
		t.Skip(err)
	}
	return folder
}

// releaseFolder is a folder of releases with one, whose rke-lm is this program.
func releaseFolder(t *testing.T, version string) string {
	t.Helper()
	name := fmt.Sprintf("rke-lm_%s_%s_%s", version, runtime.GOOS, runtime.GOARCH)
	program := fmt.Sprintf("#!/usr/bin/env bash\nexec -a rke-lm '%s' \"$@\"\n", assert.Value(os.Executable())(t))
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	assert.NilError(t, w.WriteHeader(&tar.Header{Name: name + "/rke-lm", Mode: 0o755, Size: int64(len(program))}))
	_, err := w.Write([]byte(program))
	assert.NilError(t, errors.Join(err, w.Close(), z.Close()))
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
// before added to the PATH. What it prints ends with the summary.
func runAction(t *testing.T, inputs map[string]string) (r ran) {
	t.Helper()
	root := os.Getenv("RKE_LM_ROOT")
	a := documentsOf[githubAction](t, filepath.Join(root, "action.yml"))[0]
	assert.Must(t, a.Runs.Using == "composite" && len(a.Runs.Steps) == 2, a)
	work := t.TempDir()
	paths, sum := filepath.Join(work, "path"), filepath.Join(work, "summary")
	putFile(t, paths, "")
	putFile(t, sum, "")
	for _, step := range a.Runs.Steps {
		if step.If == "inputs.version != 'installed'" && inputs["version"] == "installed" || r.code != 0 {
			continue
		}
		added := strings.ReplaceAll(textOf(t, paths), "\n", ":")
		env := []string{"GITHUB_ACTION_PATH=" + root, "RUNNER_TEMP=" + work, "GITHUB_PATH=" + paths, "GITHUB_STEP_SUMMARY=" + sum, "PATH=" + added + os.Getenv("PATH")}
		for name, value := range step.Env {
			env = append(env, name+"="+expression.ReplaceAllStringFunc(value, func(e string) string {
				input := expression.FindStringSubmatch(e)[1]
				_, has := a.Inputs[input]
				assert.Truef(t, has, "the action has no input %s", input)
				return inputs[input]
			}))
		}
		one := inBash(t, step.Run, env...)
		r = ran{r.stdout + one.stdout, r.stderr + one.stderr, one.code}
	}
	r.stdout += textOf(t, sum)
	return r
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
	runAction(t, inputs).shows(t, "a good change", transform.ExitDone, "performs grant-migration-lease", "!::error")
	h.replace("clusters/quay.yaml", "cloud-provider-name: aws", "cloud-provider-name: external")
	runAction(t, inputs).shows(t, "a bad change", transform.ExitFound, "::error file=clusters/quay.yaml,line=", "| rke2 fleet-default/quay |")
	// Each line is one word, and no path is a flag.
	putFile(t, "--color=wrong", "")
	t.Setenv("PATH", installed(t)+":"+os.Getenv("PATH"))
	inputs["version"], inputs["paths"], inputs["flags"] = "installed", "clusters/lagoon.yaml\n--color=wrong", "--exclude=quay.yaml\n"
	runAction(t, inputs).shows(t, "some files", transform.ExitDone, "!quay")
	inputs["base"] = ""
	r := runAction(t, inputs)
	assert.True(t, r.code != 0 && strings.Contains(r.stderr, "the base is not set"), r)
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
		r := runAction(t, inputs)
		assert.True(t, r.code != 0 && strings.Contains(r.stderr, why), r)
	}
	if _, err := os.Stat(filepath.Join(root, "scripts/ci/release.txt")); err != nil {
		refused("this commit is not the one after a release")
	}
	afterRelease(t, releases)
	runAction(t, inputs).shows(t, "its release", transform.ExitDone)
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
	job := documentsOf[map[string]struct {
		Variables    map[string]string
		BeforeScript []string `json:"before_script"`
		Script       []string
	}](t, filepath.Join(root, "examples/ci/gitlab.yaml"))[0]["rke-lm-review"]
	releases := releaseFolder(t, job.Variables["RKE_LM_VERSION"])
	for name, c := range map[string]struct {
		change func(h *history)
		code   int
		report string
	}{
		"good": {func(h *history) { h.apply("--next", "clusters/lagoon.yaml") }, transform.ExitDone, `failures="0"`},
		"bad": {func(h *history) {
			h.apply("--through", "--stage", "enable-leader-migration", "clusters/lagoon.yaml")
		}, transform.ExitFound, `failures="1"`},
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
			inBash(t, strings.Join(append(job.BeforeScript, job.Script...), "\n"), env...).shows(t, name, c.code, "lagoon")
			assert.Contains(t, textOf(t, "rke-lm.xml"), c.report)
		})
	}
}

// hooks are those of .pre-commit-hooks.yaml.
type hook struct{ ID, Entry, Language, Files string }

func TestTheHooksLintTheFilesOfACommit(t *testing.T) {
	root := rooted(t)
	hooks := documentsOf[[]hook](t, filepath.Join(root, ".pre-commit-hooks.yaml"))[0]
	assert.Must(t, len(hooks) == 2, hooks)
	examplesHere(t)
	t.Setenv("PATH", installed(t)+":"+os.Getenv("PATH"))
	for _, h := range hooks {
		files := regexp.MustCompile(h.Files)
		assert.Truef(t, files.MatchString("clusters/a.yml") && files.MatchString("a.json") && !files.MatchString("a.yaml.txt"), "%s takes other files: %s", h.ID, h.Files)
		inBash(t, h.Entry+" clusters/lagoon.yaml fleet/gitrepo.yaml").shows(t, h.ID, transform.ExitDone, "errors: 0")
		inBash(t, h.Entry+" fleet/gitrepo.yaml").shows(t, h.ID, transform.ExitDone)
		putFile(t, "bad.yaml", strings.Replace(textOf(t, "clusters/quay.yaml"), "cloud-provider-name: aws", "cloud-provider-name: aws\n      cloud-provider-config: secret://fleet-default:missing\n      kube-controller-manager-arg: [cloud-provider=aws, cloud-provider=external]", 1))
		inBash(t, h.Entry+" --target-version v1.27.16+rke2r1 bad.yaml").shows(t, h.ID, transform.ExitFound)
	}
	config := documentsOf[struct{ Repos []struct{ Hooks []hook } }](t, filepath.Join(root, "examples/ci/pre-commit.yaml"))[0]
	assert.True(t, len(config.Repos) == 1 && config.Repos[0].Hooks[0].ID == hooks[0].ID, config)
}

// The workflow gives the action inputs that it has.
func TestTheWorkflowUsesInputsOfTheAction(t *testing.T) {
	root := rooted(t)
	a := documentsOf[githubAction](t, filepath.Join(root, "action.yml"))[0]
	steps := documentsOf[struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]any
			}
		}
	}](t, filepath.Join(root, "examples/ci/github.yaml"))[0].Jobs["review"].Steps
	assert.Must(t, len(steps) == 2 && steps[0].With["fetch-depth"] == float64(0) && strings.HasPrefix(steps[1].Uses, "rke-lm/rke-lm@"), steps)
	for input := range steps[1].With {
		_, has := a.Inputs[input]
		assert.Truef(t, has, "the action has no input %s", input)
	}
}
