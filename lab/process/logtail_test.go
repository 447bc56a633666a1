// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/process"
)

// said runs a shell to its end.
func printed(t *testing.T, script string) *process.Process {
	t.Helper()
	p := assert.Value(process.Start(process.Command{Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log")}))(t)
	_ = p.Err()
	return p
}

func TestTheLogTailIsTheEndOfTheLogWithoutSecrets(t *testing.T) {
	p := printed(t, "for i in 1 2 3; do echo line $i; done; echo 'password: k7m2x9w4q8z3v6b1n5c7'; exit 1")
	if got := p.LogTail(); strings.Contains(got, "k7m2x9w4q8z3v6b1n5c7") || !strings.HasPrefix(got, "line 1\nline 2\nline 3\npassword: ") {
		t.Errorf("%q", got)
	}
	third := func(line string) bool { return line == "line 3" || line == "line 2" }
	assert.EqualSlices(t, p.Lines(1, third), []string{"line 3"})
	if p.Asked() {
		t.Error("it was not asked to end")
	}
}

func TestAProgramThatPrintedNothingHasNoLines(t *testing.T) {
	if got := printed(t, "true").Lines(3, nil); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

func TestWhoeverEndsAProgramHasRequestedIt(t *testing.T) {
	p := sleeper(t, t.TempDir())
	p.Kill()
	if !p.Asked() {
		t.Error("it says that it ended by itself")
	}
}
