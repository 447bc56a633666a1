// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"testing"

	"github.com/rke-lm/rke-lm/transform"
)

const (
	kcm     = "  kube-controller-manager-arg: "
	kubelet = "  kubelet-arg: "
	api     = "  kube-apiserver-arg: "
	toOwn   = "[cloud-provider=external]\n" // a component's own provider
)

// moveTo is a target that also moves to a release.
func moveTo(version string) transform.Target {
	return transform.Target{EndState: transform.EndStateExternal, Version: version}
}

// Before the switch the rename is ahead, behind it the document says nothing
// about the past. The switch itself is judged by its plan.
func TestNodeRenameInTheDocumentAsItIs(t *testing.T) {
	judge(t, "node-rename", []ruleCase{
		{"in-tree", "", onAWS, transform.Target{}, []string{"warning 8"}},
		{"with a choice", "", onAWS, chosen, nil},
		{"external", "", globalOff, transform.Target{}, nil},
		{"overridden", "", onAWS + kcm + toOwn + kubelet + toOwn, transform.Target{}, nil},
		{"a release whose aws names no node", "v1.30.10+rke2r1", onAWS, transform.Target{}, nil},
		{"another provider", "", "machineGlobalConfig: {cloud-provider-name: harvester}\n", transform.Target{}, nil},
	})
}

func TestInTreeIsGoneInTheDocumentAsItIs(t *testing.T) {
	const overridden = onAWS + kcm + toOwn + kubelet + toOwn
	judge(t, "in-tree-gone", []ruleCase{
		{"still there", "", onAWS, chosen, nil},
		{"in the target", "", onAWS, moveTo("v1.27.16+rke2r1"), []string{"error 8"}},
		{"in an older target", "v1.27.16+rke2r1", onAWS, moveTo("v1.26.15+rke2r1"), []string{"error 8"}},
		{"overridden everywhere", "v1.27.16+rke2r1", overridden + api + toOwn, chosen, nil},
		{"overridden in part", "v1.27.16+rke2r1", overridden, chosen, []string{"error 8"}},
		{"kube-apiserver has no such flag", "v1.33.1+rke2r1", overridden, chosen, nil},
		{"kubelets of workers", "v1.27.16+rke2r1", globalOff + "machineSelectorConfig:\n- config: {kubelet-arg: [cloud-provider=aws]}\n  " + forWorkers + "\n", chosen, []string{"error 11"}},
		{"external", "v1.27.16+rke2r1", globalOff, chosen, nil},
	})
}

func TestStubThatIsOn(t *testing.T) {
	judge(t, "stub-ccm-enabled", []ruleCase{
		{"off", "", globalOff, chosen, nil},
		{"in-tree", "", onAWS, chosen, nil},
		{"external", "", "machineGlobalConfig:\n  " + isExternal, chosen, []string{"error 8"}},
		{"external by an argument", "", onAWS + kcm + "[v=2, cloud-provider=external]\n", chosen, []string{"error 9"}},
		{"turned on again", "", globalOff + "machineSelectorConfig:\n- config: {disable-cloud-controller: false}\n", chosen, []string{"error 11"}},
		{"for control planes only", "", split + "machineGlobalConfig:\n  " + isExternal + "machineSelectorConfig:\n- config: {disable-cloud-controller: true}\n  " + forControlPlanes + "\n", chosen, nil},
	})
}

func TestProviderThatWasRemoved(t *testing.T) {
	const chart = "additionalManifest: |\n  kind: HelmChart\n  spec: {chart: aws-cloud-controller-manager}\n"
	const none = "machineGlobalConfig:\n  cni: calico\n"
	judge(t, "provider-removed", []ruleCase{
		{"no sign of a migration", "", none, chosen, nil},
		{"external", "", globalOff + chart, chosen, nil},
		{"a chart is left", "", none + chart, chosen, []string{"error 7"}},
		{"without any configuration", "", chart, chosen, []string{"error 6"}},
		{"the flag is left", "", none + kcm + "[enable-leader-migration]\n", chosen, []string{"error 7"}},
		{"an override is left", "", none + kubelet + toOwn, chosen, []string{"error 7"}},
		{"erased", "", onAWS + kcm + toOwn + "machineSelectorConfig:\n- config:\n    cloud-provider-name: null\n", chosen, []string{"error 12"}},
		{"all components are external without a name", "", none + "  " + stubOff + kcm + toOwn + kubelet + toOwn, chosen, nil},
		{"another provider", "", "machineGlobalConfig: {cloud-provider-name: harvester}\n" + chart, chosen, nil},
	})
}

func TestFlagOnAnExternalManager(t *testing.T) {
	judge(t, "flag-left-on-kcm", []ruleCase{
		{"in-tree", "", onAWS + kcm + "[enable-leader-migration]\n", chosen, nil},
		{"external", "", globalOff + kcm + "[v=2]\n", chosen, nil},
		{"external with the flag", "", globalOff + kcm + "\n  - v=2\n  - enable-leader-migration\n", chosen, []string{"error 12"}},
		{"as a string", "", globalOff + kcm + "--enable-leader-migration=true\n", chosen, []string{"error 10"}},
		{"turned off", "", globalOff + kcm + "[enable-leader-migration=false]\n", chosen, nil},
		{"overridden", "", onAWS + kcm + "[enable-leader-migration, cloud-provider=external]\n", chosen, []string{"error 9"}},
		{"where it is overridden by another list", "", globalOff + kcm + "[enable-leader-migration]\nmachineSelectorConfig:\n- config: {kube-controller-manager-arg: [v=2]}\n", chosen, nil},
	})
}

func TestFlagOfTheAPIServer(t *testing.T) {
	const own = onAWS + api + "[v=2, cloud-provider=external]\n"
	judge(t, "apiserver-flag-removed", []ruleCase{
		{"known", "v1.32.1+rke2r1", own, chosen, nil},
		{"removed", "v1.33.1+rke2r1", own, chosen, []string{"error 9"}},
		{"removed in the target", "v1.32.1+rke2r1", own, moveTo("v1.33.1+rke2r1"), []string{"error 9"}},
		{"not used", "v1.33.1+rke2r1", onAWS + api + "[v=2]\n", chosen, nil},
		{"of the kubelet", "v1.33.1+rke2r1", onAWS + kubelet + toOwn, chosen, nil},
	})
}

func TestProviderInSelectorIsOfAWS(t *testing.T) {
	judge(t, "provider-in-selector", []ruleCase{
		{"of another provider", "", "machineSelectorConfig:\n- config: {cloud-provider-name: harvester}\n", chosen, nil},
		{"external", "", "machineSelectorConfig:\n- config: {cloud-provider-name: external}\n", chosen, []string{"note 8"}},
	})
}
