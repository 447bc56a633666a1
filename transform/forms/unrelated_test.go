// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package forms_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/forms"
)

// unrelated are files of other programs, many with words of ours. NAME, REGION and MINOR are
// replaced.
var unrelated = []struct{ file, text string }{
	{"eks.tf", "module \"eks\" {\n  source             = \"terraform-aws-modules/eks/aws\"\n  version            = \"~> 21.0\"\n  name               = \"NAME\"\n  kubernetes_version = \"1.MINOR\"\n  addons = {\n    coredns = {}\n  }\n}\n"},
	{"eks-old.tf", "resource \"aws_eks_cluster\" \"NAME\" {\n  name    = \"NAME\"\n  version = \"1.MINOR\"\n}\n\nresource \"helm_release\" \"rancher\" {\n  name    = \"rancher\"\n  chart   = \"rancher\"\n  version = \"2.8.MINOR\"\n}\n"},
	{"aks.tf", "resource \"azurerm_kubernetes_cluster\" \"NAME\" {\n  name               = \"NAME\"\n  location           = \"REGION\"\n  kubernetes_version = \"1.MINOR\"\n  kubelet_identity {\n    client_id = var.id\n  }\n}\n"},
	{"gke.tf", "resource \"google_container_cluster\" \"NAME\" {\n  location           = \"REGION\"\n  min_master_version = \"1.MINOR\"\n}\n"},
	{"vpc.tf", "module \"vpc\" {\n  source = \"terraform-aws-modules/vpc/aws\"\n  name   = \"NAME\"\n  tags = { \"kubernetes.io/cluster/NAME\" = \"owned\" }\n}\n"},
	{"providers.tf", "terraform {\n  required_providers {\n    rancher2 = {\n      source  = \"rancher/rancher2\"\n      version = \"8.MINOR.0\"\n    }\n  }\n}\n"},
	{"project.tf", "resource \"rancher2_project\" \"NAME\" {\n  name       = \"NAME\"\n  cluster_id = data.rancher2_cluster.NAME.id\n}\n\ndata \"rancher2_cluster\" \"NAME\" {\n  name = \"NAME\"\n}\n"},
	{"variables.tf", "variable \"kubernetes_version\" {\n  default = \"1.MINOR\"\n}\n\nvariable \"cloud_provider\" {\n  default = \"REGION\"\n}\n"},
	{"terraform.tfvars", "cluster_name       = \"NAME\"\nkubernetes_version = \"1.MINOR\"\nregion             = \"REGION\"\n"},
	{"terragrunt.hcl", "terraform {\n  source = \"git::https://github.com/example/modules.git//eks?ref=v1.MINOR\"\n}\ninputs = { kubernetes_version = \"1.MINOR\" }\n"},
	{"all.yml", "# kubespray\ncloud_provider: external\nexternal_cloud_provider: aws\nkube_version: v1.MINOR.1\nkubelet_max_pods: 110\n"},
	{"k8s-cluster.yml", "kube_network_plugin: calico\nkube_proxy_mode: ipvs\nkubelet_deployment_type: host\ncluster_name: NAME.local\n"},
	{"kops.yaml", "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata:\n  name: NAME.example.com\nspec:\n  cloudProvider: aws\n  kubernetesVersion: 1.MINOR.0\n  kubelet:\n    anonymousAuth: false\n  kubeControllerManager:\n    cloudProvider: external\n"},
	{"kubeadm.yaml", "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\nkubernetesVersion: v1.MINOR.0\ncontrollerManager:\n  extraArgs:\n    cloud-provider: external\n"},
	{"capa.yaml", "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata:\n  name: NAME\nspec:\n  version: v1.MINOR.0\n  kubeadmConfigSpec:\n    clusterConfiguration:\n      controllerManager:\n        extraArgs:\n          cloud-provider: external\n"},
	{"managed.yaml", "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: AWSManagedControlPlane\nmetadata:\n  name: NAME\nspec:\n  region: REGION\n  version: v1.MINOR\n"},
	{"eksctl.yaml", "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata:\n  name: NAME\n  region: REGION\n  version: \"1.MINOR\"\naddons:\n- name: vpc-cni\n"},
	{"prometheus-values.yaml", "kubeControllerManager:\n  enabled: false\nkubelet:\n  serviceMonitor:\n    interval: MINORs\nkubeApiServer:\n  enabled: true\n"},
	{"autoscaler-values.yaml", "cloudProvider: aws\nawsRegion: REGION\nautoDiscovery:\n  clusterName: NAME\nextraArgs:\n  v: 4\n"},
	{"ccm-values.yaml", "image:\n  tag: v1.MINOR.0\nargs:\n- --v=2\n- --cloud-provider=aws\nnodeSelector:\n  node-role.kubernetes.io/control-plane: \"\"\n"},
	{"deployment.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: NAME\nspec:\n  replicas: MINOR\n  template:\n    spec:\n      containers:\n      - name: NAME\n        image: registry.example.com/NAME:1.MINOR\n"},
	{"service.yaml", "apiVersion: v1\nkind: Service\nmetadata:\n  name: NAME\n  annotations:\n    service.beta.kubernetes.io/aws-load-balancer-type: nlb\nspec:\n  type: LoadBalancer\n"},
	{"configmap.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME\ndata:\n  config.yaml: |\n    version: 1.MINOR\n    kubelet: https://NAME:10250\n    cloud_provider: none\n"},
	{"crd.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: NAMEs.example.com\nspec:\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n        properties:\n          kubernetesVersion: {type: string}\n          cloudProvider: {type: string}\n"},
	{"Chart.yaml", "apiVersion: v2\nname: NAME\nversion: 0.MINOR.0\nkubeVersion: \">=1.MINOR.0-0\"\n"},
	{"values.yaml", "replicaCount: MINOR\nimage:\n  repository: rancher/NAME\n  tag: v0.MINOR.0\ncluster:\n  kubernetesVersion: \"\"\n"},
	{"application.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: NAME\nspec:\n  source:\n    chart: rancher-monitoring\n    targetRevision: 10MINOR.0.0\n    helm:\n      values: |\n        rke2ControllerManager:\n          enabled: true\n        rke2Proxy:\n          enabled: true\n"},
	{"release.yaml", "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: NAME\nspec:\n  chart:\n    spec:\n      chart: rancher\n      version: 2.8.MINOR\n"},
	{"kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- NAME.yaml\npatches:\n- path: patch-MINOR.yaml\n"},
	{"fleet.yaml", "defaultNamespace: NAME\nhelm:\n  chart: rancher-logging\n  version: 10MINOR.0.0\ntargetCustomizations:\n- name: REGION\n  clusterSelector: {matchLabels: {region: REGION}}\n"},
	{"bundle.yaml", "apiVersion: fleet.cattle.io/v1alpha1\nkind: Bundle\nmetadata:\n  name: NAME\nspec:\n  resources:\n  - name: configmap.yaml\n    content: |\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: NAME}\n      data: {kubernetes_version: \"1.MINOR\"}\n"},
	{"registries.yaml", "mirrors:\n  docker.io:\n    endpoint: [https://NAME.example.com]\nconfigs:\n  NAME.example.com:\n    auth: {username: a}\n"},
	{"images.yaml", "images:\n- rancher/rke2-runtime:v1.MINOR.1-rke2r1\n- rancher/hyperkube:v1.MINOR.1-rancher1\n- rancher/mirrored-pause:3.6\n"},
	{"alerts.yaml", "groups:\n- name: NAME\n  rules:\n  - alert: KubeletDown\n    expr: absent(up{job=\"kubelet\"})\n    annotations:\n      description: the kubelet or kube-controller-manager of NAME is down, see cloud-provider-name in the guide\n"},
	{"ci.yml", "name: NAME\non: [push]\njobs:\n  test:\n    runs-on: ubuntu-24.04\n    strategy:\n      matrix:\n        kubernetes_version: [v1.MINOR.0]\n    steps:\n    - uses: actions/checkout@v4\n"},
	{"compose.yaml", "services:\n  NAME:\n    image: NAME:1.MINOR\n    environment:\n      CLOUD_PROVIDER: aws\n      REGION: REGION\n"},
	{"playbook.yml", "- hosts: NAME\n  become: true\n  tasks:\n  - name: install\n    ansible.builtin.package:\n      name: NAME\n      state: present\n  - name: version\n    ansible.builtin.command: kubectl version\n"},
	{"inventory.yml", "all:\n  vars:\n    cloud_provider: aws\n    kubernetes_version: 1.MINOR\n  hosts:\n    NAME: {ansible_host: 10.0.0.MINOR}\n"},
	{"package.json", "{\"name\": \"NAME\", \"version\": \"1.MINOR.0\", \"dependencies\": {\"kubernetes-client\": \"^MINOR\"}}\n"},
	{"renovate.json", "{\"extends\": [\"config:base\"], \"packageRules\": [{\"matchPackageNames\": [\"rancher/rke2\"], \"allowedVersions\": \"<1.MINOR\"}]}\n"},
	{"deploy.sh", "#!/bin/sh\nset -eu\naws eks update-kubeconfig --region REGION --name NAME\nkubectl -n NAME rollout status deployment/NAME\nhelm upgrade --install NAME charts/NAME --version 1.MINOR.0\n"},
	{"build.sh", "#!/bin/bash\nVERSION=1.MINOR\nfor d in */; do rm -rf \"$d\"/tmp/*; done\ndocker build -t NAME:$VERSION .\n"},
	{"Makefile", "VERSION ?= 1.MINOR\nimage:\n\tdocker build -t NAME:$(VERSION) .\n"},
	{"Dockerfile", "FROM alpine:3.MINOR\nARG KUBERNETES_VERSION=1.MINOR\nRUN apk add --no-cache NAME\n"},
	{"_helpers.tpl", "{{- define \"NAME.labels\" -}}\napp: NAME\nversion: {{ .Chart.Version }}\n{{- end -}}\n"},
	{"nginx.conf.j2", "{% for h in groups['NAME'] %}\nserver {{ h }}:6443;\n{% endfor %}\n"},
	{"user-data.tftpl", "#!/bin/bash\n/etc/eks/bootstrap.sh ${cluster_name} --kubelet-extra-args '--max-pods=MINOR'\n"},
	{"app.service", "[Unit]\nDescription=NAME\n[Service]\nExecStart=/usr/bin/NAME --region REGION\n"},
	{"cloud.cfg", "#cloud-config\nhostname: NAME\npackages: [jq]\nruncmd:\n- [systemctl, restart, NAME]\n"},
	{"plan.yaml", "apiVersion: upgrade.cattle.io/v1\nkind: Plan\nmetadata:\n  name: NAME\nspec:\n  concurrency: 1\n  version: v1.MINOR.1+k3s1\n  upgrade: {image: rancher/k3s-upgrade}\n"},
}

func TestFilesOfOtherProgramsAreOfNoForm(t *testing.T) {
	n := 0
	for i, name := range []string{"harbour", "orchard", "mill", "lighthouse"} {
		fill := strings.NewReplacer("NAME", name, "REGION", []string{"eu-west-1", "us-east-2"}[i%2], "MINOR", fmt.Sprint(24+i))
		for _, c := range unrelated {
			n++
			text := fill.Replace(c.text)
			found := forms.Find(c.file, []byte(text), 1)
			assert.Truef(t, found.Line == 0, "%s is a %q at %d in\n%s", c.file, found.Form.Name, found.Line, text)
			changed := text + "# more\nlast: line\n"
			_, differ, _ := forms.Compare(forms.Find(c.file, []byte(text), 1), forms.Find(c.file, []byte(changed), 1))
			assert.Truef(t, !differ, "an edit of %s is found", c.file)
		}
	}
	assert.Truef(t, n >= 200, "only %d files", n)
}
