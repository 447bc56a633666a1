// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// provoking are parts of clusters that make a verb fail; each %s is a secret.
// A few of them are accepted after all, and print something else.
var provoking = []struct{ name, spec string }{
	{"a scalar for all of spec", "%s"},
	{"a scalar for rkeConfig", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: %s}"},
	{"a version that is none", "{kubernetesVersion: %s, rkeConfig: {}}"},
	{"a list for the version", "{kubernetesVersion: [%s], rkeConfig: {}}"},
	{"a scalar for the environment", "{agentEnvVars: %s}"},
	{"a mapping for a value of the environment", "{agentEnvVars: [{name: X_TOKEN, value: {token: %s}}]}"},
	{"a scalar for the pools", "{rkeConfig: {machinePools: %s}}"},
	{"a scalar for a pool", "{rkeConfig: {machinePools: [%s]}}"},
	{"a scalar for a number", "{rkeConfig: {machinePools: [{name: a, quantity: %s}]}}"},
	{"a scalar for a boolean", "{rkeConfig: {machinePools: [{name: a, etcdRole: %s}]}}"},
	{"a scalar for labels", "{rkeConfig: {machinePools: [{name: a, labels: %s}]}}"},
	{"a scalar for the configuration", "{rkeConfig: {machineGlobalConfig: %s}}"},
	{"a list for the configuration", "{rkeConfig: {machineGlobalConfig: [%s]}}"},
	{"a scalar for the selectors", "{rkeConfig: {machineSelectorConfig: %s}}"},
	{"a scalar for an entry", "{rkeConfig: {machineSelectorConfig: [%s]}}"},
	{"a scalar for an entry's configuration", "{rkeConfig: {machineSelectorConfig: [{config: %s}]}}"},
	{"a scalar for an entry's selector", "{rkeConfig: {machineSelectorConfig: [{machineLabelSelector: %s}]}}"},
	{"a selector with an unknown operator", "{rkeConfig: {machineSelectorConfig: [{machineLabelSelector: {matchExpressions: [{key: a, operator: %s}]}}]}}"},
	{"a selector with a value that is too long", "{rkeConfig: {machineSelectorConfig: [{machineLabelSelector: {matchLabels: {token: '%s !'}}}]}}"},
	{"a selector with a key that is none", "{rkeConfig: {machineSelectorConfig: [{machineLabelSelector: {matchLabels: {'%s !': a}}}]}}"},
	{"a selector with values that do not fit", "{rkeConfig: {machineSelectorConfig: [{machineLabelSelector: {matchExpressions: [{key: a, operator: Exists, values: [%s]}]}}]}}"},
	{"a scalar for the manifest", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws}, additionalManifest: %s}}"},
	{"a mapping for the manifest", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws}, additionalManifest: {token: %s}}}"},
	{"a manifest that is no YAML", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws}, additionalManifest: \"token: %s\\nb: [\"}}"},
	{"a manifest with a key twice", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws}, additionalManifest: \"token: %s\\ntoken: %s\\n\"}}"},
	{"a manifest on one line", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws}, additionalManifest: 'token: %s'}}"},
	{"a mapping for arguments", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws, kube-controller-manager-arg: {token: %s}}}}"},
	{"another provider", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: azure, token: %s}}}"},
	{"no provider", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {token: %s}}}"},
	{"a pool without a name", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws}, machinePools: [{controlPlaneRole: true, taints: [{key: example.com/x, value: '%s', effect: NoSchedule}]}]}}"},
	{"two pools of one name", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws}, machinePools: [{name: a}, {name: a, taints: [{key: example.com/x, value: '%s', effect: NoSchedule}]}]}}"},
	{"a cluster of K3s", "{kubernetesVersion: v1.26.15+k3s1, rkeConfig: {machineGlobalConfig: {token: %s}}}"},
	{"an imported cluster", "{agentEnvVars: [{name: X_TOKEN, value: %s}]}"},
	{"a duplicate key next to it", "{token: %s, token: %s}"},
	{"a duplicate key before it", "{a: 1, a: 2, token: %s}"},
	{"an anchor", "{rkeConfig: {machineGlobalConfig: {token: &a %s, agent-token: *a}}}"},
	{"a merge key", "{rkeConfig: {machineGlobalConfig: {<<: {token: %s}}}}"},
	{"a template", "{token: %s, rkeConfig: {{ .Values.rkeConfig }}}"},
	{"two colons", "\n  token: %s: x"},
	{"no colon", "\n  token\n  %s\n  x: y"},
	{"a quote that does not close", "\n  token: \"%s"},
	{"a quote that closes too early", "\n  token: \"a\"%s"},
	{"a single quote that does not close", "\n  token: '%s"},
	{"a bracket that does not close", "\n  token: [%s"},
	{"a brace that does not close", "\n  token: {%s"},
	{"an unknown escape", "\n  token: \"\\%s\""},
	{"a reserved character", "\n  token: @%s"},
	{"a percent sign", "\n  token: %%%s"},
	{"an asterisk, which makes it an alias", "\n  token: *%s"},
	{"an ampersand, which makes it an anchor", "\n  token: &%s\n  x: y: z"},
	{"an exclamation mark, which makes it a tag", "\n  token: !%s x"},
	{"a tag of another type", "\n  token: !!int %s"},
	{"text after the header of a block", "\n  token: | %s"},
	{"a tab", "\n\ttoken: %s"},
	{"too little indentation", "\n  rkeConfig:\n    token: %s\n   x: y"},
	{"a control character", "\n  token: %s\x01"},
	{"a byte that is no UTF-8", "\n  token: %s\xff"},
	{"a NUL byte", "\n  token: %s\x00"},
	{"a SOPS file", "{rkeConfig: {machineGlobalConfig: {token: %s}}}\nsops: {mac: %s}"},
}

// TestNoErrorShowsASecret provokes errors next to secrets. Only those kinds are
// planted that fit into any syntax.
func TestNoErrorShowsASecret(t *testing.T) {
	for _, c := range provoking {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, kind := range []secretKind{
				{"an AWS access key id", "", secretKinds[0].make, true},
				{"a token of GitHub", "", func(n int) string { return "ghp_" + fill(n, 36) }, true},
				{"a token", "", func(n int) string { return low(n, 12) }, false},
			} {
				p := &planter{kind: kind}
				text := "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: faulty, namespace: fleet-default}\nspec: " +
					p.fillIn(c.spec) + "\n"
				file := filepath.Join(t.TempDir(), "cluster.yaml")
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				for _, args := range provokingRuns() {
					p.run(t, text, with([]string{file}, args...))
				}
				p.run(t, text, []string{"plan", "-"})
				requireText(t, file, text)
			}
		})
	}
}

// fillIn puts secrets into the text of a provoked error.
func (p *planter) fillIn(spec string) string {
	secrets := make([]any, strings.Count(strings.ReplaceAll(spec, "%%", ""), "%s"))
	for i := range secrets {
		secrets[i] = p.next("the input")
	}
	return fmt.Sprintf(spec, secrets...)
}

func provokingRuns() [][]string {
	return [][]string{
		{"plan"}, {"plan", "-o", "json"}, {"plan", "-o", "html"}, {"plan", "--assume-version", "v1.26.15+rke2r1"}, {"plan", "--distro", "rke2"},
		{"explain"}, {"explain", "-o", "json"}, {"explain", "--diff", stages.SwitchToExternal},
		{"apply", "--next", "--dry-run"}, {"apply", "--stage", stages.SwitchToExternal, "--dry-run"},
		{"apply", "--undo", stages.SwitchToExternal, "--dry-run"},
		{"plan", "--end-state", transform.EndStateOverride, "--target-version", "v1.27.16+rke2r1"}, {"plan", "--no-leader-migration"},
		{"lint"}, {"lint", "-o", "json"}, {"lint", "--fix", "--dry-run"},
	}
}

// TestErrorsAreProvoked makes sure that the errors above are errors, and that
// none of them is about the file as such.
func TestErrorsAreProvoked(t *testing.T) {
	harmless := []string{"an exclamation mark, which makes it a tag", "a tag of another type", "an ampersand, which makes it an anchor"}
	for _, c := range provoking {
		t.Run(c.name, func(t *testing.T) {
			p := &planter{kind: secretKinds[0]}
			text := "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nspec: " + p.fillIn(c.spec) + "\n"
			if len(marks(text)) == 0 {
				t.Fatal("no secret in the input")
			}
			r := runHere(t, text, "plan", "-")
			if r.code == exitcode.Done {
				t.Errorf("exit 0:\n%s%s", r.stdout, r.stderr)
			}
			if strings.Contains(r.stderr, "no cluster was found") && !slices.Contains(harmless, c.name) {
				t.Errorf("the cluster was not even looked at: %s", r.stderr)
			}
		})
	}
}
