// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheCommitAfterAReleaseInstallsIt makes both commits in a clone, and runs the install script of
// each commit.
func TestTheCommitAfterAReleaseInstallsIt(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil || native.os == "windows" {
		t.Skip("the script needs curl, and is not for windows")
	}
	clone := filepath.Join(t.TempDir(), "clone")
	git := func(args ...string) string {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", clone}, args...)...)
		c.Env = append(os.Environ(), "GIT_AUTHOR_NAME=tester", "GIT_AUTHOR_EMAIL=tester@example.com", "GIT_COMMITTER_NAME=tester", "GIT_COMMITTER_EMAIL=tester@example.com")
		return strings.TrimSpace(output(t, c))
	}
	output(t, exec.Command("git", "clone", "-q", filepath.Dir(made), clone))
	for _, name := range []string{"user.name", "user.email"} {
		git("config", name, "tester@example.com")
	}
	released := git("rev-parse", "HEAD")
	r := release{source: clone, out: made}
	if err := r.pin(t.Context()); err != nil {
		t.Fatal(err)
	}
	adding, naming := git("rev-parse", "HEAD~1"), git("rev-parse", "HEAD")
	if git("rev-parse", "HEAD~2") != released {
		t.Error("these are not two commits")
	}
	if changed := git("diff", "--name-only", released, adding); changed != pinned {
		t.Errorf("the first commit changes %s", changed)
	}
	for file, want := range map[string]string{
		"examples/ci/github.yaml": "uses: rke-lm/rke-lm@" + adding + " # " + version, "examples/ci/pre-commit.yaml": "rev: " + adding + " # frozen: " + version,
		"examples/ci/gitlab.yaml": "RKE_LM_VERSION: " + version,
	} {
		if !strings.Contains(git("show", "HEAD:"+file), want) {
			t.Errorf("%s has no %s", file, want)
		}
	}
	// The server has the archives below their version.
	if err := os.Symlink(made, filepath.Join(made, version)); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(filepath.Join(made, version))
	install := func(commit, version, url string) (string, error) {
		git("checkout", "--quiet", commit)
		to := filepath.Join(t.TempDir(), "bin")
		out, err := exec.Command(filepath.Join(clone, "scripts/ci/install.sh"), version, url, to).CombinedOutput()
		if err == nil {
			out, err = exec.Command(filepath.Join(to, "rke-lm"), "version").CombinedOutput()
		} else if _, found := os.Stat(filepath.Join(to, "rke-lm")); found == nil {
			t.Error("a program that was refused is installed")
		}
		return string(out), err
	}
	for _, commit := range []string{adding, naming} {
		if out, err := install(commit, "", served); err != nil || !strings.Contains(out, version) {
			t.Errorf("%s: %v\n%s", commit, err, out)
		}
	}
	if out, err := install(released, "", served); err == nil || !strings.Contains(out, "has no scripts/ci/release.txt") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := install(adding, "v0.2.0", served); err == nil || !strings.Contains(out, "the release of this commit is "+version) {
		t.Errorf("%v\n%s", err, out)
	}
	// Another place has other bytes, with sums of its own.
	other := t.TempDir()
	archives, err := filepath.Glob(filepath.Join(made, "*.tar.gz"))
	if err != nil || len(archives) == 0 || os.Mkdir(filepath.Join(other, version), 0o755) != nil {
		t.Fatal(archives, err)
	}
	for _, a := range archives {
		if err := os.WriteFile(filepath.Join(other, version, filepath.Base(a)), []byte("other bytes"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := install(adding, "", "file://"+other); err == nil || !strings.Contains(out, "does not have the checksum of the release") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAReleaseIsPinnedOnlyAsAWhole(t *testing.T) {
	folder, out := t.TempDir(), t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "a"}} {
		output(t, exec.Command("git", append([]string{"-C", folder}, args...)...))
	}
	r := release{source: folder, out: out}
	sum := strings.Repeat("a", 64) + "  rke-lm_"
	for text, want := range map[string]string{
		"": "has no archive of a release",
		sum + "v0.1.0_linux_amd64.tar.gz\n" + sum + "v0.2.0_linux_arm64.tar.gz\n": "archives of v0.1.0 and v0.2.0",
	} {
		if err := os.WriteFile(filepath.Join(out, "checksums.txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := r.pin(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}
