// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestTheManagerOfAnotherCloudIsKnownByItsNames(t *testing.T) {
	for text, want := range map[string]string{
		"kind: HelmChart\nmetadata: {name: ccm}\nspec: {chart: hcloud-cloud-controller-manager}\n":                                                          "ccm",
		"kind: HelmChart\nmetadata: {name: vsphere-cpi}\nspec: {chart: rancher-vsphere-cpi}\n":                                                              "vsphere-cpi",
		"kind: HelmChart\nmetadata: {name: aws}\nspec: {chart: aws-cloud-controller-manager}\n":                                                             "",
		"kind: HelmChart\nmetadata: {name: cpid}\nspec: {chart: occmd}\n":                                                                                   "",
		"kind: DaemonSet\nmetadata: {name: occm}\nspec: {template: {spec: {containers: [{image: r.example.com/openstack-cloud-controller-manager:v1}]}}}\n": "occm",
		"kind: DaemonSet\nmetadata: {name: m}\nspec: {template: {spec: {containers: [{image: r.example.com/aws/cloud-controller-manager:v1}]}}}\n":          "",
		"kind: ConfigMap\nmetadata: {name: cloud-provider-config}\n":                                                                                        "",
		"# nothing\n": "",
	} {
		docs := assert.Value(yamledit.ParseStream(text))(t)
		assert.Equal(t, OtherManager(docs), want, text)
	}
}
