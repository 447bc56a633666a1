// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/transform"
)

// programs is the folder of what the tests build.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "rke-lm-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(code)
}

// tool builds rke-lm, once, unless one is given.
var tool = sync.OnceValues(func() (string, error) {
	if given := os.Getenv("LAB_BINARY"); given != "" {
		return given, nil
	}
	file := filepath.Join(programs, "rke-lm")
	return file, build.Tool(context.Background(), file)
})

// verdict is what rke-lm verify says to programs.
type verdict struct {
	report.Verification
	code int // that it exits with
}

// has reports whether there is an error of a rule.
func (v verdict) has(rule string) bool {
	return slices.ContainsFunc(v.Findings, func(f transform.Finding) bool { return f.Rule == rule && f.Severity == transform.Error })
}

// ask runs rke-lm on the cluster, reads the JSON that it prints, and returns its exit code.
func (s *scenario) ask(ctx context.Context, answer any, verb string, flags ...string) (int, error) {
	s.Helper()
	file, err := tool()
	if err != nil {
		return 0, err
	}
	config, err := s.cluster.Kubeconfig(cluster.Admin)
	if err != nil {
		return 0, err
	}
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, file, append([]string{verb, "--kubeconfig", config, "-o", "json"}, flags...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{"HOME=" + s.cluster.Dir}, &out, &complaints
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	if err := json.Unmarshal(out.Bytes(), answer); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s%s", verb, err, out.String(), complaints.String())
	}
	return cmd.ProcessState.ExitCode(), nil
}

// doubled requires that rke-lm leaders finds two owners.
func (s *scenario) doubled() {
	s.Helper()
	s.eventually("two owners that rke-lm finds", func(ctx context.Context) bool {
		var found report.Ownership
		_, err := s.ask(ctx, &found, "leaders", "--for", "3s")
		s.Log("owners:", found.Seconds, err)
		return err == nil && found.Seconds["2"] > 0
	})
}

// verifies asks again until the answer is as wanted. There may be none: on a busy machine what verify sees
// need not be of one moment.
func (s *scenario) verifies(stage, what string, wanted func(verdict) bool) {
	s.Helper()
	if _, err := tool(); err != nil { // building it takes time, too
		s.Fatal(err)
	}
	var v verdict
	var err error
	var flags []string // without a stage, what always has to hold
	if stage != "" {
		flags = []string{"--stage", stage}
	}
	defer func() { s.Logf("verify %v: %d %+v %v", flags, v.code, v.Findings, err) }()
	s.eventually(fmt.Sprint("verify ", flags, " that says ", what), func(ctx context.Context) bool {
		v = verdict{}
		v.code, err = s.ask(ctx, &v.Verification, "verify", flags...)
		return err == nil && wanted(v)
	})
}

// faulted requires that verify finds errors of the given rules.
func (s *scenario) faulted(stage string, rules ...string) {
	s.Helper()
	s.verifies(stage, fmt.Sprint(rules), func(v verdict) bool {
		return v.code == 1 && !v.OK && !slices.ContainsFunc(rules, func(r string) bool { return !v.has(r) })
	})
}

// approved requires that verify finds nothing that stops.
func (s *scenario) approved(stage string) {
	s.Helper()
	s.verifies(stage, "ok", func(v verdict) bool { return v.code == 0 && v.OK })
}
