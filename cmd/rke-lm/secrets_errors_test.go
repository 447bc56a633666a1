// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

// provoking are parts of clusters that make a verb fail; each %s is a secret.
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

// accepted are those that make the document none of a cluster.
var accepted = []string{"an exclamation mark, which makes it a tag", "a tag of another type", "an ampersand, which makes it an anchor"}

// TestNoErrorShowsASecret provokes errors next to secrets. Only those kinds are planted that fit into any syntax.
func TestNoErrorShowsASecret(t *testing.T) {
	lines := strings.Split(`plan
plan -o json
plan -o html
plan --assume-version v1.26.15+rke2r1
plan --distro rke2
plan --end-state aws-override --target-version v1.27.16+rke2r1
plan --no-leader-migration
explain
explain -o json
explain --diff switch-to-external
apply --next --dry-run
apply --stage switch-to-external --dry-run
apply --undo switch-to-external --dry-run
lint
lint -o json
lint --fix --dry-run`, "\n")
	for _, c := range provoking {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for k, kind := range secretKinds[:2] {
				p := &planter{}
				text := regexp.MustCompile(`%%|%s`).ReplaceAllStringFunc(c.spec, func(s string) string {
					if s == "%%" {
						return "%"
					}
					return p.add("the input", kind.make)
				})
				text = "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: faulty, namespace: fleet-default}\nspec: " + text + "\n"
				file := filepath.Join(t.TempDir(), "cluster.yaml")
				putFile(t, file, text)
				r := p.run(t, text, "plan", "-")
				harmless := slices.Contains(accepted, c.name)
				assert.Truef(t, r.code != transform.ExitDone && (!strings.Contains(r.stderr, "no cluster was found") || harmless), "exit %d, so that nothing is provoked: %s%s", r.code, r.stdout, r.stderr)
				for i, line := range lines {
					if k == 0 || i%5 == 0 { // by its form a secret is known in each of them
						p.run(t, "", append(strings.Fields(line), file)...)
					}
				}
				assert.Equal(t, textOf(t, file), text, "the file was changed")
			}
		})
	}
}
