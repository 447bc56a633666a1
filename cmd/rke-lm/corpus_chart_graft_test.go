// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// chartHead begins a HelmChart of the cloud-controller-manager.
const chartHead = `apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata:
  name: aws-cloud-controller-manager
  namespace: kube-system
spec:
  chart: aws-cloud-controller-manager
  repo: https://kubernetes.github.io/cloud-provider-aws
  targetNamespace: kube-system
`

// chartWith returns the chart with values.
func chartWith(values string) string {
	return chartHead + "  bootstrap: true\n  version: 0.0.8\n  valuesContent: |-\n    " + strings.ReplaceAll(strings.TrimSpace(values), "\n", "\n    ") + "\n"
}

// installedValues are those of a chart that waits for nothing.
const installedValues = `
image:
  tag: v1.26.6
args:
  - --v=2
  - --cloud-provider=aws
  - --configure-cloud-routes=false
  - --enable-leader-migration=true
hostNetworking: true
nodeSelector:
  node-role.kubernetes.io/control-plane: "true"
tolerations:
  - operator: Exists
`

// inlineCloudConfig is a provider's configuration as people write it.
const inlineCloudConfig = "[Global]\nZone = eu-west-1a\nDisableSecurityGroupIngress = false\n"

// chartGrafts are clusters with a cloud-controller-manager, or a configuration of
// the provider, of their own.
var chartGrafts = []graft{
	{"a chart that is complete", []clusterEdit{awsEverywhere, manifest(chartWith(installedValues))}},
	{"a chart without values", []clusterEdit{awsEverywhere, manifest(chartHead)}},
	{"a chart with null values", []clusterEdit{awsEverywhere, manifest(chartHead + "  valuesContent:\n  version: 0.0.8\n")}},
	{"a chart with the arguments of its own", []clusterEdit{awsEverywhere, manifest(chartWith("image: {tag: v1.26.6}\nhostNetworking: true\n"))}},
	{"a chart with the flag off", []clusterEdit{awsEverywhere, manifest(chartWith(
		strings.Replace(installedValues, "migration=true", "migration=false # for now", 1)))}},
	{"a chart with the flag in quotes, among others", []clusterEdit{awsEverywhere, manifest(chartWith(
		strings.Replace(installedValues, "  - --enable-leader-migration=true\n", "  - \"--enable-leader-migration\"\n  - '--v=4' # louder\n", 1)))}},
	{"a chart with arguments in brackets", []clusterEdit{awsEverywhere, manifest(chartWith(
		"image:\n  tag: 'v1.26.6'\nargs: [\"--v=2\", '--cloud-provider=aws', --cluster-cidr=10.42.0.0/16]\n"))}},
	{"a chart that selects no node", []clusterEdit{awsEverywhere, manifest(chartWith(
		"image:\n  tag: v1.26.6\n  pullPolicy: Always\nnodeSelector:\n  node-role.kubernetes.io/control-plane: \"\"\ntolerations:\n  - key: node-role.kubernetes.io/master\n    effect: NoSchedule\n"))}},
	{"a chart with an image of another minor", []clusterEdit{awsEverywhere, manifest(chartWith(
		strings.Replace(installedValues, "v1.26.6", "v1.25.3", 1)))}},
	{"a chart between other manifests", []clusterEdit{awsEverywhere, manifest(
		"# the first\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: first\n---\n# the manager\n" + chartWith(installedValues) +
			"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: last\ndata:\n  text: |\n    one\n    two\n")}},
	{"a chart from a registry", []clusterEdit{awsEverywhere, manifest(strings.Replace(
		chartWith(installedValues), "chart: aws", "chart: oci://registry.example.com/charts/aws", 1))}},
	{"a cloud config in line", []clusterEdit{awsEverywhere, global("cloud-provider-config", inlineCloudConfig)}},
	{"a cloud config in a Secret", []clusterEdit{awsEverywhere, global("cloud-provider-config", "secret://fleet-default:cloud-config")}},
	{"a cloud config for control planes, and a chart", []clusterEdit{awsEverywhere,
		entry(controlPlane, "cloud-provider-config", inlineCloudConfig), manifest(chartWith(installedValues))}},
}
