// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// prepared returns the commands of what comes before each stage of a golden case.
func prepared(t *testing.T, name string, more ...string) map[string]string {
	t.Helper()
	r := runHere(t, "", append(append([]string{"plan", "-o", "json"}, more...), inputOf(t, name))...)
	var plans report.Plans
	err := json.Unmarshal([]byte(r.stdout), &plans)
	assert.Mustf(t, err == nil && len(plans.Clusters) == 1, "%v: %s", err, r.stderr)
	commands := map[string]string{}
	for _, s := range plans.Clusters[0].Stages {
		for _, a := range s.Prepare {
			commands[s.Name] += a.Command + "\n"
		}
		for _, a := range s.Actions {
			assert.Truef(t, !strings.HasPrefix(a.Command, "aws "), "%s: %s is an action, which a run may carry out", s.Name, a.Command)
		}
	}
	return commands
}

// inputOf lays a golden case out and returns its input.
func inputOf(t *testing.T, name string) string {
	t.Helper()
	c := golden.Input(t, name)
	return filepath.Join(c.LayOut(t), c.Input())
}

func TestEveryDistroSaysWhatAWSNeedsBeforeTheManager(t *testing.T) {
	for name, id := range map[string]string{
		"rke2-docs-like-minimal": `"${CLUSTER_ID:?`, "rke1-minimal": `"${CLUSTER_ID:?`, "manifest-cloud-daemonset": `"${CLUSTER_ID:?`,
		"rke1-block-settings": "curlew",
	} {
		t.Run(name, func(t *testing.T) {
			got := prepared(t, name)[stages.InstallCCM]
			for _, want := range []string{"aws iam put-role-policy", "aws-ccm-policy.json", "aws-node-policy.json", "aws ec2 describe-instances", "aws ec2 create-tags", "kubernetes.io/cluster/" + id} {
				assert.Contains(t, got, want)
			}
		})
	}
	for _, done := range []string{"rke2-already-external", "rke1-already-external", "manifest-external-already", "manifest-cloud-finished"} {
		got := prepared(t, done)
		assert.Truef(t, len(got) == 0, "%s: %v", done, got)
	}
}

func TestKubeletsOf127NeedCredentialsForECR(t *testing.T) {
	for name, c := range map[string]struct{ version, config string }{
		"rke2-docs-like-minimal": {"v1.27.16+rke2r1", "/var/lib/rancher/credentialprovider/config.yaml"},
		"rke1-minimal":           {"v1.27.16-rancher1-1", "/etc/kubernetes/credential-provider/config.yaml"},
		"manifest-static-pod":    {"v1.27.16", "/etc/kubernetes/credential-provider/config.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, prepared(t, name)[stages.SwitchToExternal], "", "without a move")
			got := prepared(t, name, "--target-version", c.version)[stages.SwitchToExternal]
			assert.Truef(t, strings.Contains(got, c.config) && strings.Contains(got, ".dkr.ecr"), "no %s in %q", c.config, got)
		})
	}
}

func TestPlanFoldersHoldWhatTheCommandsForAWSName(t *testing.T) {
	out := filepath.Join(t.TempDir(), "plans")
	r := runHere(t, "", "plan", "--target-version", "v1.27.16+rke2r1", "--out", out, inputOf(t, "rke2-docs-like-minimal"))
	assert.Must(t, r.code == exitcode.Done, r.stderr)
	books, err := filepath.Glob(filepath.Join(out, "*", "*", "runbook.md"))
	assert.Must(t, err == nil && len(books) == 1, books, err)
	book := textOf(t, books[0])
	for _, file := range []string{"aws-ccm-policy.json", "aws-node-policy.json", "ecr-credential-provider.yaml"} {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(books[0]), file))
		assert.Truef(t, err == nil && len(text) != 0, "%s: %v", file, err)
		assert.Contains(t, book, file, "the runbook does not name")
	}
	for _, command := range []string{"aws iam put-role-policy", "aws ec2 create-tags", "install -D -m 0644 /"} {
		assert.Contains(t, book, command, "the runbook has no")
	}
}
