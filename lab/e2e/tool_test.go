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
	"time"

	"github.com/rke-lm/rke-lm/lab/cluster"
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

// tool builds rke-lm, once.
var tool = sync.OnceValues(func() (string, error) {
	file := filepath.Join(programs, "rke-lm")
	cmd := exec.Command("go", "build", "-o", file, "./cmd/rke-lm")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return file, nil
})

// verdict is what rke-lm verify says to programs.
type verdict struct {
	OK       bool
	Findings []struct{ Rule, Severity, Path, Message string }

	code int // that it exits with
}

// has reports whether there is an error of a rule.
func (v verdict) has(rule string) bool {
	return slices.ContainsFunc(v.Findings, func(f struct{ Rule, Severity, Path, Message string }) bool {
		return f.Rule == rule && f.Severity == "error"
	})
}

// verify asks rke-lm whether a stage is done.
func (s *scenario) verify(ctx context.Context, stage string) (verdict, error) {
	s.Helper()
	file, err := tool()
	if err != nil {
		return verdict{}, err
	}
	config, err := s.cluster.Kubeconfig(cluster.Admin)
	if err != nil {
		return verdict{}, err
	}
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, file, "verify", "--kubeconfig", config, "--stage", stage, "-o", "json")
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{"HOME=" + s.cluster.Dir}, &out, &complaints
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return verdict{}, err
	}
	v := verdict{code: cmd.ProcessState.ExitCode()}
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		return v, fmt.Errorf("verify: %w\n%s%s", err, out.String(), complaints.String())
	}
	return v, nil
}

// verifies asks again until the answer is as wanted, for as long as a lease that nobody renews is followed
// and a machine may be busy.
func (s *scenario) verifies(stage, what string, wanted func(verdict) bool) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 3*time.Minute)
	defer cancel()
	for {
		v, err := s.verify(ctx, stage)
		switch {
		case err != nil:
			s.Fatalf("verify --stage %s never said %s: %v\n%s", stage, what, err, s.story())
		case wanted(v):
			s.Logf("verify --stage %s: %d %+v", stage, v.code, v.Findings)
			return
		case ctx.Err() != nil:
			s.Fatalf("verify --stage %s said %+v, not %s\n%s", stage, v, what, s.story())
		}
	}
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
