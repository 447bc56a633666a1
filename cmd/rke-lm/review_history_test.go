// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// history is a repository whose commits are the same on every machine and at every time.
type history struct {
	t      *testing.T
	folder string
	count  int
}

func newHistory(t *testing.T) *history {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	h := &history{t: t, folder: t.TempDir()}
	t.Chdir(h.folder)
	// Nothing of the machine's own configuration counts.
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull, "GIT_CEILING_DIRECTORIES": filepath.Dir(h.folder),
		"GIT_AUTHOR_NAME": "tester", "GIT_AUTHOR_EMAIL": "tester@example.com",
		"GIT_COMMITTER_NAME": "tester", "GIT_COMMITTER_EMAIL": "tester@example.com",
		"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "maintenance.auto", "GIT_CONFIG_VALUE_0": "false", // a process for each commit
		"GIT_CONFIG_KEY_1": "core.fsync", "GIT_CONFIG_VALUE_1": "none",
	} {
		t.Setenv(name, value)
	}
	// What git init makes, without its process: the cases of the gate are hundreds.
	for _, folder := range []string{".git/objects", ".git/refs", ".git/hooks"} {
		assert.NilError(t, os.MkdirAll(folder, 0o755))
	}
	h.write(".git/HEAD", "ref: refs/heads/main\n")
	h.write(".git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
	return h
}

// changed commits files as the base, and a change of them as another branch.
func (h *history) changed(base map[string]string, change func(*history)) {
	h.t.Helper()
	h.writeAll(base)
	h.commit("base")
	h.write(".git/refs/heads/change", textOf(h.t, ".git/refs/heads/main"))
	h.write(".git/HEAD", "ref: refs/heads/change\n")
	change(h)
	h.commit("change")
}

func (h *history) git(args ...string) string {
	h.t.Helper()
	out, err := exec.Command("git", args...).CombinedOutput()
	assert.Mustf(h.t, err == nil, "git %s: %v\n%s", strings.Join(args, " "), err, out)
	return string(out)
}

// commit commits everything as it is, one hour after the last commit.
func (h *history) commit(subject string) {
	h.t.Helper()
	date := fmt.Sprintf("2026-01-%02dT%02d:00:00Z", 1+h.count/24, h.count%24)
	h.count++
	h.t.Setenv("GIT_AUTHOR_DATE", date)
	h.t.Setenv("GIT_COMMITTER_DATE", date)
	h.git("add", "--all")
	h.git("commit", "--quiet", "--allow-empty", "--message", subject)
}

// branch commits a change on a branch of its own, and returns to where it was.
func (h *history) branch(name string, change func()) {
	h.t.Helper()
	h.git("switch", "--quiet", "--create", name)
	change()
	h.commit(name)
	h.git("switch", "--quiet", "main")
}

// write writes a file.
func (h *history) write(name, text string) { putFile(h.t, name, text) }

func (h *history) writeAll(files map[string]string) {
	for name, text := range files {
		h.write(name, text)
	}
}

// replace replaces a text that a file has once.
func (h *history) replace(name, old, with string) {
	h.t.Helper()
	text := textOf(h.t, name)
	n := strings.Count(text, old)
	assert.Mustf(h.t, n == 1, "%s has %q %d times", name, old, n)
	putFile(h.t, name, strings.Replace(text, old, with, 1))
}

// apply performs stages as a user does.
func (h *history) apply(args ...string) {
	h.t.Helper()
	r := runHere(h.t, "", append([]string{"apply"}, args...)...)
	assert.Mustf(h.t, r.code == 0, "apply %v: exit %d\n%s", args, r.code, r.stderr)
}
