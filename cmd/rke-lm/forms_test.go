// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// formsFolder has a cluster, and files that describe others in forms that are not read.
func formsFolder(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"pier.yaml":   pier,
		"config.yaml": "cloud-provider-name: aws\ntoken: hunter2hunter2\n",
		"main.tf":     "resource \"rke_cluster\" \"depot\" {\n  cloud_provider {\n    name = \"aws\"\n  }\n}\n",
		"setup.sh":    "#!/bin/sh\necho 'cloud-provider-name: aws' >> /etc/rancher/rke2/config.yaml\n",
		"vpc.tf":      "module \"vpc\" {\n  source = \"terraform-aws-modules/vpc/aws\"\n}\n",
		"README":      "Set cloud-provider-name: aws in config.yaml.\n",
		"Deploy.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n",
	} {
		putFile(t, name, text)
	}
	assert.NilError(t, os.Mkdir(".hidden", 0o755))
	putFile(t, filepath.Join(".hidden", "main.tf"), "resource \"rke_cluster\" \"x\" {\n  cloud_provider {}\n}\n")
}

func formFiles(findings []transform.Finding, severity transform.Severity) (files []string) {
	for _, f := range findings {
		if f.Rule == "form-not-read" && f.Severity == severity && f.Line > 0 && f.Fix != "" {
			files = append(files, f.File)
		}
	}
	return files
}

func TestAFileOfAnotherProgramWithoutAClusterIsNotCalledWrongYAML(t *testing.T) {
	here(t, map[string]string{"vpc.tf": "locals {\n  path = \"${path.module}/vpc\"\n}\n", "a.yaml": "a: ${NAME}\nb: [\n"})
	r := runHere(t, "", "plan", "vpc.tf")
	assert.Truef(t, r.code == exitcode.Refused && strings.HasPrefix(r.stderr, "error: vpc.tf: no cluster in it; name a file that holds "), "exit %d: %s", r.code, r.stderr)
	r = runHere(t, "", "plan", "a.yaml")
	assert.Truef(t, strings.Contains(r.stderr, "a.yaml:") && strings.Contains(r.stderr, "not YAML"), "exit %d: %s", r.code, r.stderr)
}

func TestFormsThatAreNotReadAreNamedInAFolder(t *testing.T) {
	formsFolder(t)
	want := []string{"config.yaml", "main.tf", "setup.sh"}
	r := runHere(t, "", "plan", "-o", "json", ".")
	var plans report.Plans
	assert.NilError(t, json.Unmarshal([]byte(r.stdout), &plans))
	got := formFiles(plans.Findings, transform.Note)
	assert.Truef(t, r.code == exitcode.Done && len(plans.Clusters) == 1 && slices.Equal(got, want), "plan: exit %d, %q\n%s", r.code, got, r.stdout)
	r = runHere(t, "", "lint", "-o", "json", ".")
	var found []transform.Finding
	assert.NilError(t, json.Unmarshal([]byte(r.stdout), &found))
	got = formFiles(found, transform.Warning)
	assert.Truef(t, r.code == exitcode.Done && slices.Equal(got, want), "lint: exit %d, %q\n%s", r.code, got, r.stdout)
	for _, line := range []string{"plan --summary .", "plan .", "plan -o markdown .", "plan -o sarif .", "lint ."} {
		r := runHere(t, "", strings.Fields(line)...)
		for _, file := range want {
			assert.Truef(t, strings.Contains(r.stdout+r.stderr, file), "%s does not name %s\n%s%s", line, file, r.stdout, r.stderr)
		}
		assert.Truef(t, !strings.Contains(r.stdout+r.stderr, "vpc.tf") && !strings.Contains(r.stdout+r.stderr, "README") && !strings.Contains(r.stdout+r.stderr, "hunter2") && r.code == exitcode.Done, "%s: exit %d\n%s%s", line, r.code, r.stdout, r.stderr)
	}
	if r := runHere(t, "", "lint", "--accept", "form-not-read", "-o", "json", "."); !strings.Contains(r.stdout, `"accepted": true`) {
		t.Errorf("%s", r.stdout)
	}
}

func TestANamedFileInAFormThatIsNotReadIsRefused(t *testing.T) {
	formsFolder(t)
	for file, form := range map[string]string{"config.yaml": "configuration file of RKE2", "main.tf": "Terraform", "setup.sh": "script"} {
		r := runHere(t, "", "plan", file)
		assert.Truef(t, r.code == exitcode.Refused && regexp.MustCompile(`^error: `+file+`:\d+: `+form+`, which is not read; [a-z]`).MatchString(r.stderr), "%s: exit %d\n%s", file, r.code, r.stderr)
	}
	var found []transform.Finding
	r := runHere(t, "", "lint", "-o", "json", "main.tf")
	assert.Truef(t, json.Unmarshal([]byte(r.stdout), &found) == nil && r.code == exitcode.Refused && slices.Equal(formFiles(found, transform.Warning), []string{"main.tf"}), "lint has no finding for programs: exit %d\n%s%s", r.code, r.stdout, r.stderr)
	r = runHere(t, textOf(t, "config.yaml"), "plan", "-")
	assert.Truef(t, r.code == exitcode.Refused && strings.Contains(r.stderr, "error: <stdin>:1: configuration file of RKE2, which is not read; "), "exit %d\n%s", r.code, r.stderr)
}

// A dump is read by verify. A manager in it is planned, and a note names the dump: once, however many Nodes it has.
func TestADumpIsNamedInPlanAndLint(t *testing.T) {
	for name, line := range map[string]int{"live-before": 1, "live-kubectl-nodes-alone": 5, "live-kubectl": 7} {
		dump := golden.Input(t, name).Files["dump.yaml"]
		here(t, map[string]string{"a.yaml": dump})
		for _, verb := range []string{"plan", "lint"} {
			r := runHere(t, "", verb, "a.yaml")
			is := fmt.Sprintf("error: a.yaml:%d: dump of a cluster, which is not read; check it with rke-lm verify --from FILE\n", line)
			note := fmt.Sprintf("form-not-read  a.yaml:%d\n  dump of a cluster: ", line)
			both := r.stdout + r.stderr
			assert.Truef(t, (name != "live-kubectl" || strings.Count(both, note) == 1) && (name == "live-kubectl" || r.code == exitcode.Refused && strings.HasPrefix(r.stderr, is)), "%s %s: exit %d\n%s", verb, name, r.code, both)
		}
	}
}

// The value of a placeholder is not known, and no advice about the value helps.
func TestAPlaceholderIsNamedAsOne(t *testing.T) {
	for _, c := range []struct{ old, new, at, program string }{
		{"name: pier", `name: "{{ .Values.name }}"`, "metadata.name: ", "helm template CHART"},
		{"name: pier", "name: ${CLUSTER_NAME}", "metadata.name: ", "envsubst < FILE"},
		{"name: pier", "name: <%= name %>", "metadata.name: ", "PROGRAM"},
		{"name: pier", "name: @@NAME@@", "not YAML: ", "PROGRAM"},
		{"name: pier", "name: %CLUSTER_NAME%", "not YAML: ", "PROGRAM"},
		{"v1.26.15+rke2r1", "${VERSION}", "spec.kubernetesVersion: ", "envsubst < FILE"},
		{"cloud-provider-name: aws", `cloud-provider-name: "{{ provider }}"`, "spec.rkeConfig.machineGlobalConfig.cloud-provider-name: ", "helm template CHART"},
		{"rkeConfig:", "rkeConfig: {a: ${x}}\n  more:", "not YAML: ", "envsubst < FILE"},
	} {
		here(t, map[string]string{"a.yaml": strings.Replace(pier, c.old, c.new, 1)})
		r := runHere(t, "", "plan", "a.yaml")
		assert.Truef(t, r.code != exitcode.Done && strings.Contains(r.stderr, c.at+"a placeholder, which is not filled in; fill it in, and plan the result: "+c.program+" | rke-lm plan -"), "%s: exit %d\n%s", c.new, r.code, r.stderr)
	}
}

// A document next to a cluster in one file is found as well: what is in a file that is read is not
// read for that.
func TestADocumentNextToAClusterIsRecognized(t *testing.T) {
	t.Chdir(t.TempDir())
	putFile(t, "a.yaml", pier+"---\napiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: RKE2ControlPlane\nmetadata: {name: quay}\nspec:\n  serverConfig:\n    cloudProviderName: aws\n")
	r := runHere(t, "", "plan", "a.yaml")
	line := strings.Count(pier, "\n") + 7
	assert.Truef(t, r.code == exitcode.Done && strings.Contains(r.stderr, fmt.Sprintf("note form-not-read  a.yaml:%d", line)), "exit %d\n%s", r.code, r.stderr)
}
