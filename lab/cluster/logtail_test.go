// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/process"
)

// shell is a program of a cluster that says what a script says.
func shell(t *testing.T, name, script string) part {
	t.Helper()
	p := assert.Value(process.Start(process.Command{Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log")}))(t)
	t.Cleanup(p.Kill)
	return part{name, p}
}

func TestTheLogTailsAreOfProgramsThatEndedOrLoggedFaults(t *testing.T) {
	ended := shell(t, "ended", "echo I1122 03:00:00.000000 working; echo it is done; exit 3")
	well := shell(t, "well", "echo I1122 all is well; exec sleep 600")
	faulty := shell(t, "faulty", "echo I1122 working; echo E1122 03:00:00.000000 no answer; exec sleep 600")
	stopped := shell(t, "stopped", "echo done; exec sleep 600")
	stopped.process.Kill()
	_ = ended.process.Err()
	c := &Cluster{parts: []part{ended, well, faulty, stopped}}
	const want = "--- ended: ended by itself (exit status 3)\nI1122 03:00:00.000000 working\nit is done\n--- faulty: faults\nE1122 03:00:00.000000 no answer\n"
	got := ""
	for since := time.Now(); got != want && time.Since(since) < time.Minute; time.Sleep(10 * time.Millisecond) {
		got = c.LogTail()
	}
	assert.Equal(t, got, want)
}

func TestAPartThatEndsBeforeItIsReadyReportsWhy(t *testing.T) {
	never := func(context.Context) error { return errors.New("not yet") }
	p := shell(t, "etcd", "echo no such folder; exit 1")
	err := (&Cluster{}).await(t.Context(), "etcd", p.process, never)
	if err == nil || errors.Is(err, errTaken) || !strings.Contains(err.Error(), "etcd ended: exit status 1; its log: no such folder") {
		t.Error(err)
	}
}

func TestAPartWhosePortWasTakenIsStartedOnAnother(t *testing.T) {
	never := func(context.Context) error { return errors.New("not yet") }
	tries := 0
	start := func() error {
		if tries++; tries == 3 {
			return nil
		}
		p := shell(t, "etcd", "echo listen tcp 127.0.0.1:2379: bind: address already in use; exit 1")
		return (&Cluster{}).await(t.Context(), "etcd", p.process, never)
	}
	if err := listening(start); err != nil || tries != 3 {
		t.Errorf("%v after %d tries", err, tries)
	}
	other := errors.New("another reason")
	if err := listening(func() error { tries++; return other }); !errors.Is(err, other) || tries != 4 {
		t.Errorf("%v after %d tries", err, tries)
	}
}

func TestLeasesLastLongerOnASlowMachineUpToALimit(t *testing.T) {
	for took, want := range map[time.Duration]string{
		3 * time.Second: "4s 2.4s 500ms", 11 * time.Second: "8s 4.8s 1s", 2 * time.Minute: "12s 7.2s 1.5s",
	} {
		got := Short.stretched(slowness(took))
		if s := fmt.Sprint(got.Lease, " ", got.Renew, " ", got.Retry); s != want {
			t.Errorf("after a start of %s: %s, want %s", took, s, want)
		}
	}
	assert.Equal(t, Defaults.stretched(7), Defaults, "Kubernetes' own timing was changed:")
}
