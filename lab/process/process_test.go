// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/process"
)

// sleeper is a program that would run for long.
func sleeper(t *testing.T, dir string) *process.Process {
	t.Helper()
	p := assert.Value(process.Start(process.Command{Path: "/bin/sleep", Args: []string{"600"}, Log: filepath.Join(dir, "log")}))(t)
	return p
}

func TestOutputIsPassedOnByLine(t *testing.T) {
	var got []string
	p := assert.Value(process.Start(process.Command{
		Path: "/bin/sh", Args: []string{"-c", "echo one; echo two >&2; printf unfinished; exit 3"},
		Log: filepath.Join(t.TempDir(), "a", "log"), Line: func(s string) { got = append(got, s) },
	}))(t)
	if err := p.Err(); err == nil || err.Error() != "exit status 3" {
		t.Error("ended with", err)
	}
	assert.EqualSlices(t, got, []string{"one", "two"})
}

func TestAProgramThatIsNotThereIsAnError(t *testing.T) {
	if _, err := process.Start(process.Command{Path: "/no/such/program", Log: filepath.Join(t.TempDir(), "log")}); err == nil {
		t.Error("it was started")
	}
}

func TestStopKillsWhatDoesNotListen(t *testing.T) {
	ready := make(chan struct{}, 1)
	p := assert.Value(process.Start(process.Command{
		Path: "/bin/sh", Args: []string{"-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"},
		Log: filepath.Join(t.TempDir(), "log"), Line: func(string) { ready <- struct{}{} },
	}))(t)
	<-ready
	p.Stop(200 * time.Millisecond)
	if p.Alive() {
		t.Error("it is still running")
	}
}

func TestAFrozenProcessDoesNothingUntilItIsThawed(t *testing.T) {
	lines := make(chan string, 1000)
	p := assert.Value(process.Start(process.Command{
		Path: "/bin/sh", Args: []string{"-c", "while :; do echo on; sleep 0.05; done"},
		Log: filepath.Join(t.TempDir(), "log"), Line: func(s string) { lines <- s },
	}))(t)
	defer p.Kill()
	<-lines
	p.Freeze()
	time.Sleep(300 * time.Millisecond) // what was written before may still come
	for len(lines) > 0 {
		<-lines
	}
	time.Sleep(500 * time.Millisecond)
	if len(lines) > 0 || !p.Alive() || p.Asked() {
		t.Errorf("%d lines while it was frozen", len(lines))
	}
	p.Thaw()
	select {
	case <-lines:
	case <-time.After(time.Minute):
		t.Error("it does not continue")
	}
}
