// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// odd is a key that a terminal would obey and a review would render. A YAML file
// holds it in double quotes.
const odd = `k\e[2J\e]0;PWN\a\r\n# done\r@octo-org/admins https://evil.example <img src=x> |` + "`x`" + ` ~~y~~\u202e\u200b\x9b31m`

const oddRKE2 = `apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata: {name: whimbrel, namespace: fleet-default}
spec:
  kubernetesVersion: v1.26.15+rke2r1
  rkeConfig:
    machineGlobalConfig:
      cloud-provider-name: aws
      "ODD": x
      kube-controller-manager-arg: ["ODD=1", "cloud-config=/etc/ODD"]
    machinePools:
    - {name: "ODD", controlPlaneRole: true, etcdRole: true, workerRole: true, quantity: 1}
`

const oddRKE1 = `cluster_name: "ODD"
kubernetes_version: v1.26.15-rancher1-1
cloud_provider: {name: aws}
nodes:
- {address: 10.0.0.1, hostname_override: "ODD", role: [controlplane, etcd, worker], user: u}
services:
  kube-controller:
    extra_args: {"ODD": "ODD"}
`

// TestNoTextControlsATerminal runs every verb on documents with odd names.
func TestNoTextControlsATerminal(t *testing.T) {
	for name, text := range map[string]string{"rke2": oddRKE2, "rke1": oddRKE1} {
		folder := t.TempDir()
		file := filepath.Join(folder, "cluster.yaml")
		putFile(t, file, strings.ReplaceAll(text, "ODD", odd))
		shown := false
		for _, line := range [][]string{
			{"plan"}, {"plan", "-o", "markdown"}, {"plan", "-o", "json"}, {"lint"}, {"lint", "-o", "json"}, {"explain"}, {"explain", "--key", "x\x1b[2J"},
			{"apply", "--next", "--dry-run"}, {"apply", "--stage", "\x1b[2J"}, {"plan", "--no-such-\u202eflag"}, {"plan", filepath.Join(folder, "no\x1b]0;such\r")}, {"\x1b[2J"},
			{"plan", "--out", filepath.Join(t.TempDir(), "plans")},
		} {
			r := runHere(t, "", append(line, file)...)
			for _, c := range r.stdout + r.stderr {
				if c != '\n' && c != '\t' && !unicode.IsGraphic(c) {
					t.Errorf("%s: %q shows %q", name, line, c)
					break
				}
			}
			shown = shown || strings.Contains(r.stdout+r.stderr, `\u001b`)
			if strings.Contains(strings.Join(line, " "), "markdown") {
				checkMarkdown(t, name, r.stdout)
			}
		}
		assert.Truef(t, shown, "%s: nothing odd was shown", name)
	}
}

var (
	fencedBlock = regexp.MustCompile("(?ms)^(````*)[a-z]+$.*?^(````*)$")
	codeSpan    = regexp.MustCompile("`[^`]*`")
)

// checkMarkdown looks for what would be rendered of a name, outside of code.
func checkMarkdown(t *testing.T, name, text string) {
	t.Helper()
	bare := codeSpan.ReplaceAllString(strings.ReplaceAll(fencedBlock.ReplaceAllString(text, ""), "\\`", ""), "")
	for _, markup := range []string{"\n# done", "@octo", "://evil", "<img", "~~y", "![", "]("} {
		assert.Truef(t, !strings.Contains(bare, markup) || strings.Contains(bare, "\\"+markup), "%s: Markdown with %q:\n%s", name, markup, bare)
	}
}
