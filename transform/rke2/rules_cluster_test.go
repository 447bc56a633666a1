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
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestSnapshotsThatAreMissing(t *testing.T) {
	checkRule(t, "snapshot-missing", []ruleCase{
		{"configured", "", snapshots + onAWS, chosen, nil},
		{"nothing", "", onAWS, chosen, []string{"warning 6"}},
		{"null", "", "etcd:\n" + onAWS, chosen, []string{"warning 7"}},
		{"nothing about them", "", "etcd:\n  disableSnapshots: false\n" + onAWS, chosen, []string{"warning 7"}},
		{"etcd snapshots are disabled", "", "etcd:\n  snapshotRetention: 5\n  disableSnapshots: true\n" + onAWS, chosen, []string{"warning 9"}},
		{"to a bucket", "", "etcd: {s3: {bucket: b}}\n" + onAWS, chosen, nil},
	})
}

func TestDocumentsThatAreOneObject(t *testing.T) {
	const head = onAWS + "additionalManifest: |\n"
	a := "  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a, namespace: kube-system}\n"
	checkRule(t, "manifest-overwritten", []ruleCase{
		{"different ones", "", head + a + "  ---\n" + strings.Replace(a, "name: a", "name: b", 1), chosen, nil},
		{"in two namespaces", "", head + a + "  ---\n" + strings.Replace(a, "kube-system", "default", 1), chosen, nil},
		{"of two kinds", "", head + a + "  ---\n" + strings.Replace(a, "ConfigMap", "Secret", 1), chosen, nil},
		{"of two groups", "", head + a + "  ---\n" + strings.Replace(a, "v1", "example.com/v1", 1), chosen, nil},
		{"one", "", head + a + "  ---\n" + a, chosen, []string{"error 14"}},
		{"one in two versions", "", head + strings.Replace(a, "v1", "example.com/v1", 1) + "  ---\n" + strings.Replace(a, "v1", "example.com/v1beta1", 1), chosen, []string{"error 14"}},
		{"no objects", "", head + "  # nothing\n  ---\n  a: b\n  ---\n  a: b\n", chosen, nil},
	})
}

// A document that a stage adds must not take the place of one that is there.
func TestAStageThatWouldOverwriteADocumentIsBlocked(t *testing.T) {
	other := "additionalManifest: |\n  apiVersion: helm.cattle.io/v1\n  kind: HelmChart\n  metadata: {name: aws-cloud-controller-manager, namespace: kube-system}\n  spec: {repo: mine}\n"
	s := step(t, planned(t, release, onAWS+other, chosen), stages.InstallCCM)
	assert.Truef(t, s.State == plan.Blocked && len(about(s.Findings, "manifest-overwritten")) == 1, "%s: %v", s.State, found(s.Findings))
}

// podSecurity is what one rule finds in a cluster with a template for pod security admission.
func podSecurity(t *testing.T, rule, config string, target transform.Target) []string {
	t.Helper()
	text := strings.Replace(document(release, config), "  rkeConfig:", "  defaultPodSecurityAdmissionConfigurationTemplateName: rancher-restricted\n  rkeConfig:", 1)
	c := assert.Value(Format().Lint(transform.Only(parse(t, text)), target))(t)
	return found(about(c.Findings(""), rule))
}

func TestArgumentsThatTheWebhookDrops(t *testing.T) {
	const api = onAWS + "  kube-apiserver-arg:\n"
	old := transform.Target{RancherVersion: "v2.8.5"}
	for _, c := range []struct {
		name, config string
		target       transform.Target
		want         []string
	}{
		{"every flag once and with a value", api + "  - v=2\n  - feature-gates=A=true,B=true\n", old, nil},
		{"no value", api + "  - v=2\n  - profiling\n", old, []string{"webhook-drops-args warning 12"}},
		{"a list in two", api + "  - service-account-issuer=a\n  - service-account-issuer=b\n", old, []string{"webhook-drops-args warning 11"}},
		{"a flag of which the last one counts anyway", api + "  - v=1\n  - v=2\n", old, nil},
		{"in an entry", onAWS + "machineSelectorConfig:\n- config: {kube-apiserver-arg: [profiling]}\n", old, nil},
		{"a Rancher that keeps them", api + "  - profiling\n", transform.Target{RancherVersion: "2.12.3"}, nil},
		{"one before", api + "  - profiling\n", transform.Target{RancherVersion: "2.12.2"}, []string{"webhook-drops-args warning 11"}},
		{"no version is stated", api + "  - profiling\n", transform.Target{}, []string{"webhook-drops-args warning 11"}},
	} {
		assert.EqualSlices(t, podSecurity(t, "webhook-drops-args", c.config, c.target), c.want, c.name)
	}
	checkRule(t, "webhook-drops-args", []ruleCase{{"no template", "", api + "  - profiling\n", old, nil}})
}

func TestPodSecurityThatIsDropped(t *testing.T) {
	const entry = onAWS + "machineSelectorConfig:\n- config: {kube-apiserver-arg: [v=2]}\n  "
	checkRule(t, "psact-dropped", []ruleCase{{"no template", "", entry + forControlPlanes + "\n", chosen, nil}})
	for config, want := range map[string]string{
		onAWS:                             "",
		onAWS + api + "[v=2]\n":           "",
		entry + forControlPlanes + "\n":   "psact-dropped error 11",
		split + entry + forWorkers + "\n": "",
		strings.Replace(entry, "v=2", "admission-control-config-file=/etc/rancher/rke2/config/rancher-psact.yaml", 1) + forControlPlanes + "\n": "",
	} {
		assert.Equal(t, strings.Join(podSecurity(t, "psact-dropped", config, chosen), ", "), want, config)
	}
}

func TestValuesThatAreDropped(t *testing.T) {
	checkRule(t, "value-dropped", []ruleCase{
		{"of the right kind", "", onAWS + kubelet + "[1]\n  debug: true\n  cni: calico\n", chosen, nil},
		{"a number", "", onAWS + "  service-node-port-range: 30000\n", chosen, []string{"error 9"}},
		{"a mapping", "", onAWS + kubelet + "{v: 2}\n", chosen, []string{"error 9"}},
		{"an octal number, as YAML 1.1 reads it", "", onAWS + "  resolv-conf: 0644\n", chosen, []string{"error 9"}},
		{"a null", "", onAWS + "  cni: null\n", chosen, nil},
		{"of a key that is dropped anyway", "", onAWS + "  no-such-key: 1\n", chosen, nil},
		{"in an entry for no machine", "", split + onAWS + "machineSelectorConfig:\n- config: {cni: 1}\n  " + forZoneA + "\n", chosen, []string{"error 14"}},
	})
}

func TestFeatureGatesThatVanish(t *testing.T) {
	const entry = "machineSelectorConfig:\n- config:\n    "
	const gates = onAWS + kubelet + "[\"feature-gates=A=true,B=false\", v=2]\n" + entry
	lost := func(list string) []transform.Finding {
		return about(linted(t, release, gates+"kubelet-arg: ["+list+", v=3]\n", chosen).Findings(""), "args-overwritten")
	}
	list := lost("feature-gates=B=true")
	assert.True(t, len(list) == 1 && list[0].Line == 12 && list[0].Severity == transform.Warning && list[0].Message == "this list replaces spec.rkeConfig.machineGlobalConfig.kubelet-arg on the same machines, and these arguments are lost: feature-gates A", list)
	assert.Equal(t, len(lost("feature-gates=A=false, feature-gates=B=true")), 0)
}

// With the override the stages edit the lists of all three components.
func TestListsThatTheOverrideEditsAreErrors(t *testing.T) {
	config := onAWS + kubelet + "[v=2]\nmachineSelectorConfig:\n- config: {kubelet-arg: [a=b]}\n- config: {kubelet-arg: []}\n"
	override := transform.Target{EndState: transform.EndStateOverride}
	for _, rule := range []string{"args-overwritten", "value-erased"} {
		for target, want := range map[string]transform.Severity{transform.EndStateExternal: transform.Warning, override.EndState: transform.Error} {
			list := about(linted(t, release, config, transform.Target{EndState: target}).Findings(""), rule)
			assert.Truef(t, len(list) == 1 && list[0].Severity == want, "%s, %s: %v", rule, target, found(list))
		}
	}
}

// lint says of other providers what every other verb refuses, and nothing else.
func TestClustersOfOtherProvidersAreLinted(t *testing.T) {
	for provider, want := range map[string]string{"harvester, cloud-provider-config: secret://a:b": "not-migratable note 8", "azure": "not-migratable error 8"} {
		c := linted(t, release, snapshots+"machineGlobalConfig: {cloud-provider-name: "+provider+"}\n", transform.Target{})
		assert.EqualSlices(t, found(c.Findings("")), []string{want})
	}
}

func TestNoFindingQuotesAValue(t *testing.T) {
	config := "machineGlobalConfig:\n  cloud-provider-config: s3cr3t\n  cloud-provider-name: external\n  kubelet-arg: [cloud-provider-name=s3cr3t, 'feature-gates=s3cr3t=true,CSIMigrationAWS=false']\n" +
		"  kube-controller-manager-arg: [leader-elect-resource-name=s3cr3t, leader-elect=s3cr3t]\n  resolv-conf: 15\n  node-name: s3cr3t\n" +
		"machineSelectorConfig:\n- config: {kubelet-arg: [s3cr3t=s3cr3t]}\n  labelSelector: {matchLabels: {a: s3cr3t}}\n" + withChart("image: {tag: s3cr3t}", "args: [--cloud-provider=s3cr3t]", "clusterName: s3cr3t")
	list := linted(t, release, config, chosen).Findings("")
	for _, f := range list {
		assert.True(t, !strings.Contains(f.Message+f.Fix+f.Path, "s3cr3t"), f)
	}
	assert.Truef(t, len(list) >= 12, "only %v", found(list))
}

func TestRulesThatAreFixedAndThatAreNeverAccepted(t *testing.T) {
	var fixable, never []string
	for _, r := range Format().Rules {
		if r.Fixable {
			fixable = append(fixable, r.ID)
		}
		if !r.Acceptable() {
			never = append(never, r.ID)
		}
	}
	assert.EqualSlices(t, fixable, []string{"config-misindented", "selector-widened", "ui-edit-fails", "unknown-config-key", "wrong-arg-spelling"})
	assert.EqualSlices(t, never, []string{"encrypted", "flag-left-on-kcm", "in-tree-gone", "lease-timings-unsafe", "manifest-overwritten", "provider-removed", "templated"})
}

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
	m.Target, m.Stage = transform.Target{Named: map[string]bool{"cp": true, "etcd": true, "workers": true}}, stages.SwitchToExternal
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
