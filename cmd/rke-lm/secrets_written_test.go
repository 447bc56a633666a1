// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// requireSafeFolder makes sure that in a folder of plans only the documents have
// secrets.
func requireSafeFolder(t *testing.T, p *planter, file string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "plans")
	if r := p.run(t, "", []string{"plan", "--end-state", transform.EndStateExternal, "--out", out, file}); r.code != exitcode.Done {
		t.Fatalf("exit %d: %s", r.code, r.stderr)
	}
	read := 0
	err := filepath.WalkDir(out, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) == ".yaml" || e.Name() == "plan.json" {
			return err
		}
		read++
		text, err := os.ReadFile(path)
		p.requireNone(t, string(text), e.Name())
		return err
	})
	if err != nil || read < 3 {
		t.Errorf("%d files were read: %v", read, err)
	}
	for _, args := range [][]string{{"--next"}, {"--stage", stages.DisableLeaderMigration, "--through"}, {"--undo", stages.SwitchToExternal}} {
		p.run(t, "", append(with(args, "apply", "--dry-run", "--plan", out), file))
	}
}

// requireKept makes sure that what is written has every secret as it was.
func requireKept(t *testing.T, p *planter, file, text string) {
	t.Helper()
	args := with(unblocking(), "--through", "--stage", stages.DisableLeaderMigration)
	printed := runHere(t, "", append(append([]string{"apply", "--stdout"}, args...), file)...)
	p.requireNone(t, printed.stderr, "apply --stdout on standard error")
	piped := runHere(t, text, append(append([]string{"apply"}, args...), "-")...)
	p.requireNone(t, piped.stderr, "apply - on standard error")
	written := p.run(t, "", append(append([]string{"apply"}, args...), file))
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []ran{printed, piped, written} {
		if r.code != exitcode.Done {
			t.Fatalf("exit %d: %s", r.code, r.stderr)
		}
	}
	if string(after) == text {
		t.Error("nothing was written")
	}
	for _, out := range []string{string(after), printed.stdout, piped.stdout} {
		for n, place := range p.places {
			for _, part := range strings.Split(p.kind.make(n), "\n") {
				if had, has := strings.Count(text, part), strings.Count(out, part); had != has {
					t.Errorf("%s from %s is %d times in what was written, not %d times", p.kind.name, place, has, had)
				}
			}
		}
	}
}

// TestNoFileThatHoldsASecretIsLeft looks for other files than the one that
// was written, or was not.
func TestNoFileThatHoldsASecretIsLeft(t *testing.T) {
	text, p := plant(t, readSecrets(t, "everywhere"), secretKinds[0])
	folder := t.TempDir()
	file := filepath.Join(folder, "cluster.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--next"}, {"--next"}, {"--next"}, {"--stage", stages.SwitchToExternal}, {"--undo", stages.InstallCCM}, {"--next", "--dry-run"}} {
		p.run(t, "", append(append([]string{"apply"}, args...), file))
	}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && path != file {
			err = errors.New(path + " was not removed")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode changed: %v, %v", info.Mode(), err)
	}
}
