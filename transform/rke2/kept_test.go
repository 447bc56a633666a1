// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// heron is an object with some configuration in it.
func heron(t *testing.T, spec string) any {
	t.Helper()
	d := assert.Value(yamledit.ParseString("heron", "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: heron, namespace: fleet-default, uid: u-1}\nspec:\n  kubernetesVersion: v1.26.15+rke2r1\n"+spec))(t)
	return d.Root().Value()
}

func TestTwoObjectsAreTheSameToRancher(t *testing.T) {
	const (
		psact = "  defaultPodSecurityAdmissionConfigurationTemplateName: rancher-restricted\n"
		own   = "{fileSources: [{secret: {name: heron-admission-configuration-psact, items: [{key: a, path: /b}]}}]}"
		other = "{fileSources: [{secret: {name: audit, items: [{key: a, path: /c}]}}]}"
	)
	for _, c := range []struct {
		name, a, b string
		alike      bool
	}{
		{"null, absent and empty", "  rkeConfig: {machinePools: null, chartValues: {}, machineGlobalConfig: {cni: calico}}\n  agentEnvVars: []\n", "  rkeConfig: {machineGlobalConfig: {cni: calico}}\n", true},
		{"an entry without a configuration", "  rkeConfig: {machineSelectorConfig: [{config: {}}]}\n", "  rkeConfig: {machineSelectorConfig: [{config: null, machineLabelSelector: null}]}\n", true},
		{"a null that erases a value for machines", "  rkeConfig: {machineSelectorConfig: [{config: {kubelet-arg: null}}]}\n", "  rkeConfig: {machineSelectorConfig: [{config: {}}]}\n", false},
		{"an empty list for machines", "  rkeConfig: {machineGlobalConfig: {kubelet-arg: []}}\n", "  rkeConfig: {machineGlobalConfig: {}}\n", false},
		{"arguments in the webhook's order", psact + "  rkeConfig: {machineGlobalConfig: {kube-apiserver-arg: [v=2, a=b]}}\n", psact + "  rkeConfig: {machineGlobalConfig: {kube-apiserver-arg: [a=b, v=2]}}\n", true},
		{"without a template nothing writes them", "  rkeConfig: {machineGlobalConfig: {kube-apiserver-arg: [v=2, a=b]}}\n", "  rkeConfig: {machineGlobalConfig: {kube-apiserver-arg: [a=b, v=2]}}\n", false},
		{"an argument that the webhook drops", psact + "  rkeConfig: {machineGlobalConfig: {kube-apiserver-arg: [profiling, a=b]}}\n", psact + "  rkeConfig: {machineGlobalConfig: {kube-apiserver-arg: [a=b]}}\n", false},
		{"other components are in the order of the file", psact + "  rkeConfig: {machineGlobalConfig: {kubelet-arg: [v=2, a=b]}}\n", psact + "  rkeConfig: {machineGlobalConfig: {kubelet-arg: [a=b, v=2]}}\n", false},
		{"the webhook's file goes to the end", psact + "  rkeConfig: {machineSelectorFiles: [" + own + "," + other + "]}\n", psact + "  rkeConfig: {machineSelectorFiles: [" + other + "," + own + "]}\n", true},
		{"a file that goes", psact + "  rkeConfig: {machineSelectorFiles: [" + own + "," + other + "]}\n", psact + "  rkeConfig: {machineSelectorFiles: [" + own + "]}\n", false},
		{"a cluster that Rancher refuses is compared as it is", "  rkeConfig: {machinePools: 7}\n", "  rkeConfig: {machinePools: 7, chartValues: null}\n", false},
	} {
		assert.Equal(t, Format().Alike(heron(t, c.a), heron(t, c.b)), c.alike, c.name)
	}
}
