// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
)

// formsFolder has a cluster, and files that describe others in forms that are not read.
func formsFolder(t *testing.T) {
	t.Helper()
	here(t, map[string]string{
		"pier.yaml":       pier,
		"config.yaml":     "cloud-provider-name: aws\ntoken: hunter2hunter2\n",
		"main.tf":         "resource \"rke_cluster\" \"depot\" {\n  cloud_provider {\n    name = \"aws\"\n  }\n}\n",
		"setup.sh":        "#!/bin/sh\necho 'cloud-provider-name: aws' >> /etc/rancher/rke2/config.yaml\n",
		"vpc.tf":          "module \"vpc\" {\n  source = \"terraform-aws-modules/vpc/aws\"\n}\n",
		"README":          "Set cloud-provider-name: aws in config.yaml.\n",
		"Deploy.yaml":     "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n",
		".hidden/main.tf": "resource \"rke_cluster\" \"x\" {\n  cloud_provider {}\n}\n",
	})
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
	shows(t, transform.ExitRefused, "plan vpc.tf", "error: vpc.tf: no cluster in it; name a file that holds ")
	shows(t, transform.ExitInput, "plan a.yaml", "a.yaml:", "not YAML")
}

func TestFormsThatAreNotReadAreNamedInAFolder(t *testing.T) {
	formsFolder(t)
	want := []string{"config.yaml", "main.tf", "setup.sh"}
	plans := decoded[report.Plans](t, shows(t, transform.ExitDone, "plan -o json .").stdout)
	assert.Equal(t, len(plans.Clusters), 1)
	assert.EqualSlices(t, formFiles(plans.Findings, transform.Note), want, "plan")
	found := decoded[[]transform.Finding](t, shows(t, transform.ExitDone, "lint -o json .").stdout)
	assert.EqualSlices(t, formFiles(found, transform.Warning), want, "lint")
	for _, line := range []string{"plan --summary .", "plan .", "plan -o markdown .", "plan -o sarif .", "lint ."} {
		shows(t, transform.ExitDone, line, append(want, "!vpc.tf", "!README", "!hunter2")...)
	}
	shows(t, transform.ExitDone, "lint --accept form-not-read -o json .", `"accepted": true`)
}

func TestANamedFileInAFormThatIsNotReadIsRefused(t *testing.T) {
	formsFolder(t)
	for file, form := range map[string]string{"config.yaml": "configuration file of RKE2", "main.tf": "Terraform", "setup.sh": "script"} {
		r := shows(t, transform.ExitRefused, "plan "+file)
		assert.Truef(t, regexp.MustCompile(`^error: `+file+`:\d+: `+form+`, which is not read; [a-z]`).MatchString(r.stderr), "%s: %s", file, r.stderr)
	}
	found := decoded[[]transform.Finding](t, shows(t, transform.ExitRefused, "lint -o json main.tf").stdout)
	assert.EqualSlices(t, formFiles(found, transform.Warning), []string{"main.tf"}, "lint has no finding for programs")
	runHere(t, textOf(t, "config.yaml"), "plan", "-").shows(t, "a stream", transform.ExitRefused, "error: <stdin>:1: configuration file of RKE2, which is not read; ")
}

// A dump is read by verify. A manager in it is planned, and a note names the dump: once, however many Nodes it has.
func TestADumpIsNamedInPlanAndLint(t *testing.T) {
	for name, line := range map[string]int{"live-before": 1, "live-kubectl-nodes-alone": 5, "live-kubectl": 7} {
		here(t, map[string]string{"a.yaml": golden.Input(t, name).Files["dump.yaml"]})
		for _, verb := range []string{"plan", "lint"} {
			r := runHere(t, "", verb, "a.yaml")
			is := fmt.Sprintf("error: a.yaml:%d: dump of a cluster, which is not read; check it with rke-lm verify --from FILE\n", line)
			note := fmt.Sprintf("form-not-read  a.yaml:%d\n  dump of a cluster: ", line)
			both := r.stdout + r.stderr
			assert.Truef(t, (name != "live-kubectl" || strings.Count(both, note) == 1) && (name == "live-kubectl" || r.code == transform.ExitRefused && strings.HasPrefix(r.stderr, is)), "%s %s: exit %d\n%s", verb, name, r.code, both)
		}
	}
}

// The value of a placeholder is not known, and no advice about the value helps.
func TestAPlaceholderIsNamedAsOne(t *testing.T) {
	for _, c := range []struct {
		old, new, at, program string
		code                  int
	}{
		{"name: pier", `name: "{{ .Values.name }}"`, "metadata.name: ", "helm template CHART", transform.ExitInput},
		{"name: pier", "name: ${CLUSTER_NAME}", "metadata.name: ", "envsubst < FILE", transform.ExitInput},
		{"name: pier", "name: <%= name %>", "metadata.name: ", "PROGRAM", transform.ExitInput},
		{"name: pier", "name: @@NAME@@", "not YAML: ", "PROGRAM", transform.ExitInput},
		{"name: pier", "name: %CLUSTER_NAME%", "not YAML: ", "PROGRAM", transform.ExitInput},
		{"v1.26.15+rke2r1", "${VERSION}", "spec.kubernetesVersion: ", "envsubst < FILE", transform.ExitInput},
		{"cloud-provider-name: aws", `cloud-provider-name: "{{ provider }}"`, "spec.rkeConfig.machineGlobalConfig.cloud-provider-name: ", "helm template CHART", transform.ExitRefused},
		{"rkeConfig:", "rkeConfig: {a: ${x}}\n  more:", "not YAML: ", "envsubst < FILE", transform.ExitInput},
	} {
		here(t, map[string]string{"a.yaml": strings.Replace(pier, c.old, c.new, 1)})
		shows(t, c.code, "plan a.yaml", c.at+"a placeholder, which is not filled in; fill it in, and plan the result: "+c.program+" | rke-lm plan -")
	}
}

// A document next to a cluster in one file is found as well: what is in a file that is read is not
// read for that.
func TestADocumentNextToAClusterIsRecognized(t *testing.T) {
	here(t, map[string]string{"a.yaml": pier + "---\napiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: RKE2ControlPlane\nmetadata: {name: quay}\nspec:\n  serverConfig:\n    cloudProviderName: aws\n"})
	shows(t, transform.ExitDone, "plan a.yaml", fmt.Sprintf("note form-not-read  a.yaml:%d", strings.Count(pier, "\n")+7))
}
