// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"maps"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/stages"
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

// Before the switch the rename is still to come, after it the document states nothing
// about the past. The switch itself is checked by its plan.
func TestInTreeIsGoneInTheDocumentAsItIs(t *testing.T) {
	const overridden = onAWS + kcm + toOwn + kubelet + toOwn
	checkRule(t, "in-tree-gone", []ruleCase{
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

// Where aws only names the nodes the cluster runs, without cloud controllers; before that its
// components do not start. Both have stages of their own.
func TestInTreeIsGoneSaysWhatAWSIsThen(t *testing.T) {
	const stopped, without = "components with it do not start", "passes a cloud provider to no component: the cluster has no cloud controllers"
	for version, want := range map[string]string{
		"v1.27.16+rke2r1": stopped, "v1.29.10+rke2r1": stopped, "v1.29.11+rke2r1": without, "v1.34.1+rke2r1": without,
	} {
		list := about(linted(t, version, onAWS, chosen).Findings(""), "in-tree-gone")
		assert.Truef(t, len(list) == 1 && strings.Contains(list[0].Message, want) && strings.Contains(list[0].Fix, "apply the stages that rke-lm plan shows"), "%s: %+v", version, list)
	}
}

// A node whose name comes from the metadata under any provider keeps it.
func TestNodesNamedByMetadataKeepTheirNames(t *testing.T) {
	m := &migration{Cluster: cluster(t, split+globalOff+"  node-name-from-cloud-provider-metadata: true\n").Cluster}
	m.Version = "v1.34.1+rke2r1"
	for _, c := range m.Kinds {
		if c.Server() { // as metadata of 2026 lists it
			m.Effective(c)[nodeNameKey] = transform.Setting{Value: true}
		}
	}
	named := map[string]bool{}
	for _, c := range m.Classes {
		named[c.Name] = m.namedByMetadata(c)
	}
	want := map[string]bool{"cp": true, "etcd": true, "workers": false}
	assert.Truef(t, maps.Equal(named, want), "%v, want %v", named, want)
	m.target, m.stage = transform.Target{Named: map[string]bool{"cp": true, "etcd": true, "workers": true}}, stages.SwitchToExternal
	assert.EqualSlices(t, m.namesOf(m.losesName()), []string{"workers"}, "workers take the host name")
}

func TestStubThatIsOn(t *testing.T) {
	const late = "v1.36.0+rke2r1"
	checkRule(t, "stub-ccm-enabled", []ruleCase{
		{"off", "", globalOff, chosen, nil},
		{"in-tree", "", onAWS, chosen, nil},
		{"external, and the name turns it off", "", "machineGlobalConfig:\n  " + isExternal, chosen, []string{"warning 8"}},
		{"external at 1.36", late, "machineGlobalConfig:\n  " + isExternal, chosen, []string{"error 8"}},
		{"external by an argument", "", onAWS + kcm + "[v=2, cloud-provider=external]\n", chosen, []string{"warning 9"}},
		{"external by an argument without a name", "", "machineGlobalConfig:\n  cni: calico\n" + kcm + "[cloud-provider=external]\n", chosen, []string{"error 9"}},
		{"aws is a name and turns nothing off at 1.36", late, onAWS, chosen, []string{"error 8"}},
		{"aws at 1.35", "v1.35.1+rke2r1", onAWS, chosen, nil},
		{"turned on again", "", globalOff + "machineSelectorConfig:\n- config: {disable-cloud-controller: false}\n", chosen, []string{"warning 11"}},
		{"for control planes only", "", split + "machineGlobalConfig:\n  " + isExternal + "machineSelectorConfig:\n- config: {disable-cloud-controller: true}\n  " + forControlPlanes + "\n", chosen, nil},
	})
}

func TestProviderThatWasRemoved(t *testing.T) {
	const chart = "additionalManifest: |\n  kind: HelmChart\n  spec: {chart: aws-cloud-controller-manager}\n"
	const none = "machineGlobalConfig:\n  cni: calico\n"
	checkRule(t, "provider-removed", []ruleCase{
		{"no sign of a migration", "", none, chosen, nil},
		{"external", "", globalOff + chart, chosen, nil},
		{"a chart is left", "", none + chart, chosen, []string{"error 7"}},
		{"without any configuration", "", chart, chosen, []string{"error 6"}},
		{"the flag is left", "", none + kcm + "[enable-leader-migration]\n", chosen, []string{"error 7"}},
		{"an override is left", "", none + kubelet + toOwn, chosen, []string{"error 7"}},
		{"erased", "", onAWS + kcm + toOwn + "machineSelectorConfig:\n- config:\n    cloud-provider-name: null\n", chosen, []string{"error 12"}},
		{"all components are external without a name", "", none + "  " + stubOff + kcm + toOwn + kubelet + toOwn, chosen, nil},
		{"another provider", "", "machineGlobalConfig: {cloud-provider-name: harvester}\n" + chart, chosen, nil},
		{"Rancher's interface", "", "machineGlobalConfig:\n  cloud-provider-name: \"\"\n", chosen, []string{"warning 8"}},
		{"set to nothing for control planes", "", split + onAWS + "machineSelectorConfig:\n- config: {cloud-provider-name: null}\n  " + forControlPlanes + "\n", chosen, []string{"warning 14"}},
		{"set to nothing for workers", "", split + onAWS + "machineSelectorConfig:\n- config: {cloud-provider-name: null}\n  " + forWorkers + "\n", chosen, nil},
		{"set to nothing after a chart", "", "machineGlobalConfig:\n  cloud-provider-name: \"\"\n" + chart, chosen, []string{"error 8"}},
	})
}

func TestFlagWithoutThePermissionForTheLease(t *testing.T) {
	const flag = kcm + "[v=2, enable-leader-migration]\n"
	granted := "additionalManifest: |\n  " + strings.ReplaceAll(strings.TrimSpace(leadermigration.Grant(leadermigration.Lease)), "\n", "\n  ") + "\n"
	checkRule(t, "lease-grant-missing", []ruleCase{
		{"the flag alone", "", onAWS + flag, chosen, []string{"warning 9"}},
		{"for control planes", "", onAWS + "machineSelectorConfig:\n- config: {kube-controller-manager-arg: [enable-leader-migration]}\n  " + forControlPlanes + "\n", chosen, []string{"warning 10"}},
		{"for workers, which run none", "", split + onAWS + "machineSelectorConfig:\n- config: {kube-controller-manager-arg: [enable-leader-migration]}\n  " + forWorkers + "\n", chosen, nil},
		{"with the permission", "", onAWS + flag + granted, chosen, nil},
		{"with that for another lease", "", onAWS + flag + granted, transform.Target{LeaseName: "own"}, []string{"warning 9"}},
		{"with other manifests", "", onAWS + flag + "additionalManifest: |\n  kind: ConfigMap\n", chosen, []string{"warning 9"}},
		{"off", "", onAWS + kcm + "[enable-leader-migration=false]\n", chosen, nil},
		{"external", "", globalOff + flag, chosen, nil},
	})
}

func TestFlagOnAnExternalManager(t *testing.T) {
	checkRule(t, "flag-left-on-kcm", []ruleCase{
		{"in-tree", "", onAWS + kcm + "[enable-leader-migration]\n", chosen, nil},
		{"external with the flag", "", globalOff + kcm + "\n  - v=2\n  - enable-leader-migration\n", chosen, []string{"error 12"}},
		{"as a string", "", globalOff + kcm + "--enable-leader-migration=true\n", chosen, []string{"error 10"}},
		{"overridden", "", onAWS + kcm + "[enable-leader-migration, cloud-provider=external]\n", chosen, []string{"error 9"}},
		{"where it is overridden by another list", "", globalOff + kcm + "[enable-leader-migration]\nmachineSelectorConfig:\n- config: {kube-controller-manager-arg: [v=2]}\n", chosen, nil},
	})
}

func TestFlagOfTheAPIServer(t *testing.T) {
	const own = onAWS + api + "[v=2, cloud-provider=external]\n"
	checkRule(t, "apiserver-flag-removed", []ruleCase{
		{"known", "v1.32.1+rke2r1", own, chosen, nil},
		{"removed", "v1.33.1+rke2r1", own, chosen, []string{"error 9"}},
		{"removed in the target", "v1.32.1+rke2r1", own, moveTo("v1.33.1+rke2r1"), []string{"error 9"}},
		{"request a higher quota from AWS, or delete unused resources", "v1.33.1+rke2r1", onAWS + api + "[v=2]\n", chosen, nil},
		{"of the kubelet", "v1.33.1+rke2r1", onAWS + kubelet + toOwn, chosen, nil},
	})
}
