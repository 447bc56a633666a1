// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package forms_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/forms"
)

// described is a file in a form, and the lines that make it one.
type described struct {
	form, file string
	keys       []string // lines without which the file is of no form
	text       string
}

var describedFiles = []described{
	{"configuration file of RKE2", "config.yaml", []string{"cloud-provider-name: aws", "kube-controller-manager-arg:", "- terminated-pod-gc-threshold=500"}, `server: https://10.0.0.5:9345
cloud-provider-name: aws
tls-san: [api.example.com]
kube-controller-manager-arg:
- terminated-pod-gc-threshold=500
`},
	{"configuration file of RKE2", "50-aws.yaml", []string{`"disable-cloud-controller": true`, `"cloud-provider-config": /etc/aws.conf`}, `"disable-cloud-controller": true
"cloud-provider-config": /etc/aws.conf
`},
	{"file with keys of a cluster", "agent.yaml", []string{"kubelet-arg: [max-pods=200]"}, `server: https://10.0.0.5:9345
kubelet-arg: [max-pods=200]
`},
	{"Terraform", "main.tf", []string{`  kubernetes_version = "v1.26.15+rke2r1"`, "  rke_config {", "    machine_global_config = <<EOF", `cloud-provider-name: "aws"`}, `resource "rancher2_cluster_v2" "this" {
  name = "quay"
  kubernetes_version = "v1.26.15+rke2r1"
  rke_config {
    machine_global_config = <<EOF
cni: "calico"
cloud-provider-name: "aws"
EOF
  }
}
`},
	{"Terraform", "rke.tf", []string{"  kubernetes_version = var.release", "  cloud_provider {"}, `resource "rke_cluster" "depot" {
  cluster_name = "depot"
  kubernetes_version = var.release
  cloud_provider {
    name = "aws"
  }
}
`},
	{"Terraform", "variables.tf", []string{`variable "cloud_provider_name" {`}, `variable "region" { default = "eu-west-1" }
variable "cloud_provider_name" {
  default = "aws"
}
`},
	{"Terraform", "main.tf.json", []string{`"kubernetes_version": "v1.26.15+rke2r1",`, `"rke_config": {"machine_global_config": "cloud-provider-name: aws"}`}, `{"resource": {"rancher2_cluster_v2": {"quay": {
"kubernetes_version": "v1.26.15+rke2r1",
"rke_config": {"machine_global_config": "cloud-provider-name: aws"}
}}}}
`},
	{"Terraform", "module.tf", []string{"  enable_ccm = true", "  rke2_version = var.release", "  rke2_config = <<-EOT"}, `module "servers" {
  source = "git::https://github.com/example/rke2-aws-tf.git"
  enable_ccm = true
  rke2_version = var.release
  rke2_config = <<-EOT
    node-label: [a=b]
  EOT
}
`},
	{"cluster of CAPRKE2", "control-plane.yaml", []string{"  version: v1.26.15+rke2r1", "    cloudProviderName: aws"}, `apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: RKE2ControlPlane
metadata: {name: quay, namespace: default}
spec:
  version: v1.26.15+rke2r1
  serverConfig:
    cloudProviderName: aws
`},
	{"Bundle of Fleet", "bundle.yaml", []string{"        kubernetesVersion: v1.26.15+rke2r1", "        rkeConfig:", "          machineGlobalConfig: {cloud-provider-name: aws}"}, `apiVersion: fleet.cattle.io/v1alpha1
kind: Bundle
metadata: {name: quay, namespace: fleet-local}
spec:
  resources:
  - name: cluster.yaml
    content: |
      apiVersion: provisioning.cattle.io/v1
      kind: Cluster
      metadata: {name: quay, namespace: fleet-default}
      spec:
        kubernetesVersion: v1.26.15+rke2r1
        rkeConfig:
          machineGlobalConfig: {cloud-provider-name: aws}
`},
	{"Kustomization of Flux", "flux.yaml", []string{"      path: /spec/rkeConfig/machineGlobalConfig/cni", "      path: /spec/rkeConfig/machineGlobalConfig/cloud-provider-name", "      cloud_provider_name: aws"}, `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: clusters, namespace: flux-system}
spec:
  path: ./clusters
  patches:
  - patch: |
    - op: remove
      path: /spec/rkeConfig/machineGlobalConfig/cni
    - op: remove
      path: /spec/rkeConfig/machineGlobalConfig/cloud-provider-name
  postBuild:
    substitute:
      cloud_provider_name: aws
`},
	{"template", "config.yaml.j2", []string{"{% if aws %}cloud-provider-name: aws{% endif %}"}, `server: https://{{ first }}:9345
{% if aws %}cloud-provider-name: aws{% endif %}
token: {{ token }}
`},
	{"template", "_helpers.tpl", []string{`  kube-controller-manager-arg: {{ .Values.args | toYaml | nindent 4 }}`}, `{{- define "cluster.config" -}}
  kube-controller-manager-arg: {{ .Values.args | toYaml | nindent 4 }}
{{- end -}}
`},
	{"values file of a Helm chart", "values.yaml", []string{"    cloud-provider-name: aws", "  machineGlobalConfig:"}, `cluster:
  name: quay
  machineGlobalConfig:
    cni: calico
    cloud-provider-name: aws
`},
	{"variables of Ansible", "group_vars.yml", []string{"rke2_server_options:", `  - "cloud-provider-name: aws"`, "rke2_disable_cloud_controller: true"}, `rke2_channel: stable
rke2_disable_cloud_controller: true
rke2_server_options:
  - "cloud-provider-name: aws"
  - "node-label: [a=b]"
`},
	{"script", "bootstrap.sh", []string{"cloud-provider-name: aws", "kubelet-arg: [max-pods=200]"}, `#!/bin/sh
mkdir -p /etc/rancher/rke2
cat > /etc/rancher/rke2/config.yaml <<EOF
token: $TOKEN
cloud-provider-name: aws
kubelet-arg: [max-pods=200]
EOF
systemctl enable --now rke2-server
`},
	{"script", "install", []string{"curl -sfL https://get.rke2.io | INSTALL_RKE2_EXEC='server --cloud-provider-name=aws' sh -"}, `#!/bin/sh
curl -sfL https://get.rke2.io | INSTALL_RKE2_EXEC='server --cloud-provider-name=aws' sh -
`},
	{"script", "cloud-init.yaml", []string{"      cloud-provider-name: aws"}, `#cloud-config
packages: [curl]
write_files:
  - path: /etc/rancher/rke2/config.yaml
    content: |
      token: abc
      cloud-provider-name: aws
`},
}

func TestAFileIsOfAFormByItsLinesAndOfNoneWithoutThem(t *testing.T) {
	for _, c := range describedFiles {
		found := forms.Find(c.file, []byte(c.text), 1)
		lines := strings.Split(c.text, "\n")
		if found.Form.Name != c.form || found.Line == 0 || found.Form.Fix == "" {
			t.Errorf("%s: %q at %d, want %q", c.file, found.Form.Name, found.Line, c.form)
		} else if at := strings.TrimSpace(lines[found.Line-1]); !strings.Contains(strings.Join(c.keys, "\n"), at) {
			t.Errorf("%s: found at %q, want one of %q", c.file, at, c.keys)
		}
		without := c.text
		for _, key := range c.keys {
			assert.Mustf(t, strings.Contains(without, key+"\n"), "%s has no line %q", c.file, key)
			without = strings.Replace(without, key+"\n", "", 1)
		}
		if found := forms.Find(c.file, []byte(without), 1); found.Line != 0 {
			t.Errorf("%s without its keys: %q at %d in\n%s", c.file, found.Form.Name, found.Line, without)
		}
		end := path.Ext(c.file)
		assert.Truef(t, (end == "" || slices.Contains(forms.Extensions(), end)) && forms.Possible([]byte(c.text)), "%s is not read", c.file)
	}
}

// What describes a live cluster is named, whatever it has of the words of a form.
func TestADumpIsNamedWithTheCommandThatReadsIt(t *testing.T) {
	for text, want := range map[string]bool{
		"# harbour\napiVersion: rke-lm/v1\nkind: Observation\nversion: v1.26.15+rke2r1\n": true,
		"- apiVersion: v1\n  kind: Node\n  metadata: {name: a}\n":                         true,
		"  - apiVersion: coordination.k8s.io/v1\n    kind: Lease\n":                       true,
		"{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"NodeList\"":                          true,
		"apiVersion: v1\nkind: Pod\nmetadata: {ownerReferences: [{kind: Node}]}\n":        false,
		"kind: List\napiVersion: v1\n":                                                    false,
	} {
		found := forms.Find("a.yaml", []byte(text), 7)
		assert.Truef(t, (found.Line == 7) == want && want == (found.Form.Name == "dump of a cluster" && strings.HasSuffix(found.Form.Fix, "rke-lm verify --from FILE")), "%q: %q at %d", text, found.Form.Name, found.Line)
	}
}

func TestACommentMakesNoForm(t *testing.T) {
	for _, c := range []struct{ file, text string }{
		{"config.yaml", "token: x\n# cloud-provider-name: aws\n"},
		{"config.yaml", "token: x # cloud-provider-name: aws\n"},
		{"main.tf", "locals {\n  // cloud-provider-name = aws\n  # kubelet-arg = x\n}\n"},
		{"a.sh", "#!/bin/sh\n# cloud-provider-name: aws\ntrue\n"},
	} {
		found := forms.Find(c.file, []byte(c.text), 1)
		assert.Truef(t, found.Line == 0, "%s: found at %d in\n%s", c.file, found.Line, c.text)
	}
}

// touch is an edit of a file in a form.
type touch struct {
	name, file    string
	before, after string
	differ, about bool
}

func TestTouchedLinesAreFoundInEveryForm(t *testing.T) {
	text := func(file string) string {
		for _, c := range describedFiles {
			if c.file == file {
				return c.text
			}
		}
		t.Fatal(file)
		return ""
	}
	edit := func(name, file, old, with string, differ, about bool) touch {
		before := text(file)
		assert.Mustf(t, strings.Count(before, old) == 1, "%s has %q %d times", file, old, strings.Count(before, old))
		return touch{name, file, before, strings.Replace(before, old, with, 1), differ, about}
	}
	for _, c := range []touch{
		edit("an item below a key", "config.yaml", "threshold=500", "threshold=600", true, true),
		edit("a line of the same document", "config.yaml", "api.example.com", "api2.example.com", true, false),
		edit("a comment", "config.yaml", "tls-san: [", "# more names\ntls-san: [", false, false),
		edit("a key with an escape", "config.yaml", "tls-san:", "\"cloud-provider-n\\x61me\": ''\ntls-san:", true, true),
		edit("a key on a line of its own", "config.yaml", "tls-san:", "? cloud-provider-name\n: ''\ntls-san:", true, true),
		edit("another document before it", "config.yaml", "server:", "---\nserver:", true, true),
		edit("a value in a heredoc", "main.tf", `cloud-provider-name: "aws"`, `cloud-provider-name: ""`, true, true),
		edit("the heredoc itself", "main.tf", "machine_global_config = <<EOF", "unused = <<EOF", true, true),
		edit("a condition around a heredoc's line", "main.tf", "cni: \"calico\"\n", "cni: \"calico\"\n%{ if false ~}\n", true, true),
		edit("a comment of several lines around a block", "main.tf", "  rke_config {", "  /*\n  rke_config {", true, true),
		edit("the number of clusters", "main.tf", "  name = \"quay\"\n", "  name = \"quay\"\n  count = 0\n", true, true),
		edit("the cluster's name", "main.tf", `"quay"`, `"pier"`, true, false),
		edit("a resource next to it", "main.tf", "resource \"rancher2_cluster_v2\"", "resource \"aws_instance\" \"x\" {\n  ami = \"a\"\n}\n\nresource \"rancher2_cluster_v2\"", false, false),
		edit("the name in a block of its own", "rke.tf", `name = "aws"`, `name = ""`, true, true),
		edit("the default of a variable", "variables.tf", `default = "aws"`, `default = ""`, true, true),
		edit("a variable next to it", "variables.tf", "eu-west-1", "eu-west-2", false, false),
		edit("the flag of a module", "module.tf", "enable_ccm = true", "enable_ccm = false", true, true),
		edit("the configuration of a module", "module.tf", "a=b", "a=c", true, false),
		edit("the provider of a control plane", "control-plane.yaml", "Name: aws", "Name: ''", true, true),
		edit("a label of a control plane", "control-plane.yaml", "namespace: default", "namespace: fleet", true, false),
		edit("a cluster in a Bundle", "bundle.yaml", "{cloud-provider-name: aws}", "{}", true, true),
		edit("a patch of Flux", "flux.yaml", "remove\n      path: /spec/rkeConfig/machineGlobalConfig/cloud", "add\n      path: /spec/rkeConfig/machineGlobalConfig/cloud", true, true),
		edit("a substitution of Flux", "flux.yaml", "name: aws", "name: external", true, true),
		edit("another field of Flux", "flux.yaml", "./clusters", "./eu", true, false),
		edit("a condition of a template", "_helpers.tpl", "{{- define", "{{- if .Values.never }}{{ end }}{{- define", true, true),
		edit("a value of a chart", "values.yaml", "cloud-provider-name: aws", "cloud-provider-name: none", true, true),
		edit("another value of the chart", "values.yaml", "name: quay", "name: pier", false, false),
		edit("an option of Ansible", "group_vars.yml", "name: aws", "name: x", true, true),
		edit("another option of Ansible", "group_vars.yml", "[a=b]", "[a=c]", true, false),
		edit("another variable", "group_vars.yml", "stable", "latest", false, false),
		edit("what a script writes", "bootstrap.sh", "cloud-provider-name: aws\n", "", true, true),
		edit("another line that it writes", "bootstrap.sh", "$TOKEN", "$SECRET", true, false),
		edit("another line of the script", "bootstrap.sh", "systemctl enable", "systemctl reenable", false, false),
		edit("a flag of the installer", "install", "--cloud-provider-name=aws", "", true, true),
		edit("a file of cloud-init", "cloud-init.yaml", "name: aws", "name: ''", true, true),
		edit("a package of cloud-init", "cloud-init.yaml", "[curl]", "[curl, jq]", false, false),
		{"a block that moves", "main.tf", text("main.tf") + "# end\n", "locals { a = 1 }\n" + text("main.tf"), false, false},
		{"a line that moves to another block", "rke.tf", text("rke.tf"), strings.Replace(text("rke.tf"), "    name = \"aws\"\n", "", 1) + "resource \"x\" \"y\" {\n    name = \"aws\"\n}\n", true, true},
		{"a file that is removed", "values.yaml", text("values.yaml"), "", true, true},
		{"a file that is added", "values.yaml", "", text("values.yaml"), true, true},
	} {
		before, after := forms.Find(c.file, []byte(c.before), 1), forms.Find(c.file, []byte(c.after), 1)
		line, differ, about := forms.Compare(before, after)
		assert.Truef(t, differ == c.differ && about == c.about && differ != (line == 0), "%s: %s: differ %t, about %t at %d, want %t, %t\n%s", c.file, c.name, differ, about, line, c.differ, c.about, c.after)
	}
}

func TestTheLineOfAChangeIsNamed(t *testing.T) {
	before := "cloud-provider-name: aws\n" + strings.Repeat("node-label: [a=b]\n", 50) + "kubelet-arg: [max-pods=100]\n"
	after := strings.Replace(before, "max-pods=100", "max-pods=200", 1)
	line, _, about := forms.Compare(forms.Find("config.yaml", []byte(before), 1), forms.Find("config.yaml", []byte(after), 1))
	assert.Truef(t, line == 52 && about, "line %d", line)
}
