// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// clusterWithSecrets holds one next to every place that a stage edits.
const clusterWithSecrets = `nodes:
  - address: 203.0.113.21
    internal_address: 10.0.1.21
    role: [controlplane, etcd]
    ssh_key: pl4nted-ssh-key
kubernetes_version: v1.26.15-rancher1-1
private_registries:
  - url: registry.example.com
    password: pl4nted-registry # password=pl4nted-comment
services:
  etcd:
    backup_config:
      s3backupconfig:
        access_key: pl4nted-access
        secret_key: pl4nted-s3
  kube-controller:
    extra_args:
      token: pl4nted-argument
    extra_env:
      - AWS_SECRET_ACCESS_KEY=pl4nted-env
cloud_provider:
  name: aws
  customCloudProvider: |-
    [Global]
    SecretAccessKey = pl4nted-cloud-config
bastion_host:
  ssh_key: pl4nted-bastion
addons: |-
  apiVersion: v1
  kind: Secret
  metadata:
    name: own
  stringData:
    key: pl4nted-addon
`

// Files keep their secrets; what is shown has none.
func TestSecretsOfRKEStayInTheFile(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "cluster.yml")
	if err := os.WriteFile(file, []byte(clusterWithSecrets), 0o600); err != nil {
		t.Fatal(err)
	}
	planted := strings.Count(clusterWithSecrets, "pl4nted")
	for _, line := range []string{
		"plan", "plan -o json", "plan -o yaml", "plan -o markdown", "plan -o html", "lint -o html", "lint", "lint -o json", "explain", "lint --fix --dry-run",
		"apply --dry-run --through --stage switch-to-external --manual-done install-ccm", "apply --dry-run --through --stage switch-to-external", "plan --out " + filepath.Join(folder, "plans"),
	} {
		r := runHere(t, "", append(strings.Fields(line), file)...)
		if at := strings.Index(r.stdout+r.stderr, "pl4nted"); at >= 0 {
			t.Errorf("%s shows %.60s", line, (r.stdout + r.stderr)[at:])
		}
	}
	r := runHere(t, "", "apply", "--stdout", "--accept", "flag-unknown", "--through", "--manual-done", "install-ccm", "--stage", "switch-to-external", file)
	if got := strings.Count(r.stdout, "pl4nted"); got != planted {
		t.Errorf("%d of %d secrets are left in the file: %s", got, planted, r.stderr)
	}
	shown, err := filepath.Glob(filepath.Join(folder, "plans", "*", "*", "*.diff"))
	if err != nil || len(shown) != 3 {
		t.Fatal(shown, err)
	}
	books, err := filepath.Glob(filepath.Join(folder, "plans", "*", "*", "runbook.md"))
	if err != nil || len(books) != 1 {
		t.Fatal(books, err)
	}
	for _, name := range append(shown, books...) {
		if text, err := os.ReadFile(name); err != nil || strings.Contains(string(text), "pl4nted") {
			t.Errorf("%s shows a secret, %v", filepath.Base(name), err)
		}
	}
}

// valuesWithSecrets holds one next to every place that a stage edits.
const valuesWithSecrets = `env:
  - name: AWS_SECRET_ACCESS_KEY
    value: pl4nted-env
  - {name: AWS_SESSION_TOKEN, value: pl4nted-flow}
args: # --token=pl4nted-comment
  - --token=pl4nted-argument
  - --cloud-provider=aws
image:
  repository: https://user:pl4nted-url@registry.example.com/ccm
podAnnotations:
  password: pl4nted-annotation
nodeSelector:
  node-role.kubernetes.io/controlplane: "true"
tolerations: []
secretKey: pl4nted-key
`

// The values file keeps its secrets as well; what is shown has none.
func TestSecretsOfAValuesFileStayInTheFile(t *testing.T) {
	folder := t.TempDir()
	file, values := filepath.Join(folder, "cluster.yml"), filepath.Join(folder, "values.yaml")
	putFile(t, file, clusterWithSecrets)
	putFile(t, values, valuesWithSecrets)
	for _, line := range []string{
		"plan", "plan -o json", "plan -o yaml", "plan -o markdown", "plan -o html", "lint -o html", "lint", "lint -o json", "lint -o sarif", "lint -o github",
		"apply --dry-run --through --accept flag-unknown --stage disable-leader-migration --manual-done install-ccm --manual-done switch-to-external", "plan --out " + filepath.Join(folder, "plans"),
	} {
		r := runHere(t, "", append(strings.Fields(line), "--ccm-values", values, file)...)
		if at := strings.Index(r.stdout+r.stderr, "pl4nted"); at >= 0 {
			t.Errorf("%s shows %.60s", line, (r.stdout + r.stderr)[at:])
		}
		if !strings.Contains(r.stdout, "values.yaml") {
			t.Errorf("%s shows nothing of the file: exit %d, %s", line, r.code, r.stderr)
		}
	}
	shown, err := filepath.Glob(filepath.Join(folder, "plans", "*", "*", "*.diff"))
	if err != nil || len(shown) != 5 {
		t.Fatal(shown, err)
	}
	books, err := filepath.Glob(filepath.Join(folder, "plans", "*", "*", "runbook.md"))
	if err != nil || len(books) != 1 {
		t.Fatal(books, err)
	}
	for _, name := range append(shown, books...) {
		if strings.Contains(textOf(t, name), "pl4nted") {
			t.Errorf("%s shows a secret", filepath.Base(name))
		}
	}
	if r := runHere(t, "", "apply", "--accept", "flag-unknown", "--through", "--stage", "disable-leader-migration", "--manual-done", "install-ccm", "--manual-done", "switch-to-external", "--ccm-values", values, file); r.code != 0 || strings.Contains(r.stderr, "pl4nted") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	if planted := strings.Count(valuesWithSecrets, "pl4nted"); strings.Count(textOf(t, values), "pl4nted") != planted {
		t.Errorf("secrets are lost in\n%s", textOf(t, values))
	}
}
