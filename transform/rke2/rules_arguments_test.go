// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"reflect"
	"strings"
	"testing"

	provv1 "github.com/rancher/rancher/pkg/apis/provisioning.cattle.io/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
)

func TestArgumentsThatAreKeys(t *testing.T) {
	checkRule(t, "wrong-arg-spelling", []ruleCase{
		{"flags", "", onAWS + kubelet + toOwn + kcm + "[enable-leader-migration, enable_leader_migration=true, cloud-config=/c]\n", chosen, nil},
		{"the provider's name", "", onAWS + kubelet + "[v=2, cloud-provider-name=external]\n", chosen, []string{"error 9"}},
		{"with dashes, as a string", "", onAWS + kcm + "--cloud-provider-name=external\n", chosen, []string{"error 9"}},
		{"its configuration", "", onAWS + kcm + "[cloud-provider-config=/c]\n", chosen, []string{"error 9"}},
		{"of a component that knows no provider", "", onAWS + "  kube-proxy-arg: [cloud-provider-name=external]\n", chosen, []string{"error 9"}},
		{"the stub", "", onAWS + kcm + "[disable-cloud-controller=true]\n", chosen, []string{"error 9"}},
		{"the stub as answers in public call it", "", onAWS + kubelet + "[disable-cloud-provider]\n", chosen, []string{"error 9"}},
		{"a list in a list", "", onAWS + kubelet + "[kubelet-arg=v=2]\n", chosen, []string{"error 9"}},
		{"a slip", "", onAWS + kcm + "[enable-leader-migraton]\n", chosen, []string{"error 9"}},
		{"a slip in an entry that loses", "", onAWS + kubelet + "[cloud-provder=external]\nmachineSelectorConfig:\n- config: {kubelet-arg: [cloud-provider=external]}\n", chosen, []string{"error 9"}},
		{"a space", "", onAWS + kubelet + "[cloud-provider external]\n", chosen, []string{"error 9"}},
		{"no list of arguments", "", onAWS + "  tls-san: [cloud-provider-name]\n", chosen, nil},
	})
}

func TestArgumentsThatAreKeysAreRewritten(t *testing.T) {
	repairs(t, []struct{ name, before, want string }{
		{"in place", onAWS + kubelet + "\n  - 'cloud-provider-name=external' # ours\n  - v=2\n", onAWS + kubelet + "\n  - 'cloud-provider=external' # ours\n  - v=2\n"},
		{"a string with dashes", onAWS + kcm + "--cloud-provider-name=aws\n", onAWS + kcm + "--cloud-provider=aws\n"},
		{"next to the right one", onAWS + kubelet + "[cloud-provider=external, cloud-provider-name=external]\n", onAWS + kubelet + "[cloud-provider=external]\n"},
		{"twice", onAWS + kcm + "[cloud-provider-name=aws, cloud-provider-config=/c]\n", onAWS + kcm + "[cloud-provider=aws, cloud-config=/c]\n"},
		{"a slip", onAWS + kcm + "[enable-leader-migraton]\n", onAWS + kcm + "[enable-leader-migration]\n"},
		{"a space", onAWS + kubelet + "[cloud-provider external]\n", onAWS + kubelet + "[cloud-provider=external]\n"},
		{"not where there is no such flag", onAWS + "  kube-proxy-arg: [cloud-provider-name=external]\n", onAWS + "  kube-proxy-arg: [cloud-provider-name=external]\n"},
		{"the stub", onAWS + kubelet + "\n  - v=2\n  - disable-cloud-controller=true\n", onAWS + kubelet + "\n  - v=2\n  disable-cloud-controller: true\n"},
		{"the stub as answers in public call it", onAWS + kubelet + "\n  - v=2\n  - disable-cloud-provider\n", onAWS + kubelet + "\n  - v=2\n  disable-cloud-controller: true\n"},
		{"the stub alone", onAWS + kcm + "[disable-cloud-controller=true]\n  cni: calico\n", onAWS + "  disable-cloud-controller: true\n  cni: calico\n"},
		{"the stub as a string", onAWS + kubelet + "--disable-cloud-controller\n", onAWS + "  disable-cloud-controller: true\n"},
		{"the stub next to its key", onAWS + "  disable-cloud-controller: true\n" + kubelet + "[v=2, disable-cloud-controller=true]\n", onAWS + "  disable-cloud-controller: true\n" + kubelet + "[v=2]\n"},
		{"not the stub next to another word", onAWS + "  disable-cloud-controller: false\n" + kubelet + "[v=2, disable-cloud-controller=true]\n", onAWS + "  disable-cloud-controller: false\n" + kubelet + "[v=2, disable-cloud-controller=true]\n"},
		{"not the stub that hides a list", onAWS + kubelet + "[v=2]\nmachineSelectorConfig:\n- config: {kubelet-arg: [disable-cloud-controller=true]}\n", onAWS + kubelet + "[v=2]\nmachineSelectorConfig:\n- config: {kubelet-arg: [disable-cloud-controller=true]}\n"},
		{"not the stub that is left on", onAWS + kcm + "[disable-cloud-controller=false]\n", onAWS + kcm + "[disable-cloud-controller=false]\n"},
	})
}

func TestFeatureGatesThatAreStale(t *testing.T) {
	const off, on = "[feature-gates=CSIMigrationAWS=false]\n", "['feature-gates=A=true,CSIMigrationAWS=true']\n"
	checkRule(t, "csi-gate-stale", []ruleCase{
		{"may be off, and not for long", "v1.24.17+rke2r1", onAWS + kcm + off, chosen, []string{"note 9"}},
		{"locked", "v1.25.16+rke2r1", onAWS + kcm + off, chosen, []string{"error 9"}},
		{"locked in the target", "v1.24.17+rke2r1", onAWS + kcm + off, moveTo("v1.25.16+rke2r1"), []string{"error 9"}},
		{"gone", "v1.27.16+rke2r1", onAWS + kcm + on, chosen, []string{"error 9"}},
		{"gone in the target", "v1.26.15+rke2r1", onAWS + kcm + on, moveTo("v1.27.16+rke2r1"), []string{"error 9"}},
		{"of every component", "", onAWS + kcm + off + kubelet + off + api + off + "  kube-proxy-arg: " + off + "  kube-scheduler-arg: " + off, chosen, []string{"error 10", "error 11", "error 12", "error 13", "error 9"}},
		{"that reaches no machine", "", onAWS + kcm + off + "machineSelectorConfig:\n- config: {kube-controller-manager-arg: [v=2]}\n", chosen, nil},
		{"where the component does not run", "", split + onAWS + "machineSelectorConfig:\n- config: {kube-controller-manager-arg: [feature-gates=CSIMigrationAWS=false]}\n  " + forWorkers + "\n", chosen, nil},
	})
	checkRule(t, "flag-on-external-gate", []ruleCase{
		{"named", "", onAWS + kcm + "[feature-gates=ControllerManagerLeaderMigration=true]\n", chosen, nil},
		{"off", "v1.22.17+rke2r1", onAWS + kcm + "[feature-gates=ControllerManagerLeaderMigration=false]\n", chosen, []string{"error 9"}},
		{"gone", "v1.27.16+rke2r1", onAWS + kcm + "[feature-gates=ControllerManagerLeaderMigration=true]\n", chosen, []string{"error 9"}},
		{"gone in the target", "", onAWS + kcm + "[feature-gates=ControllerManagerLeaderMigration=true]\n", moveTo("v1.27.16+rke2r1"), []string{"error 9"}},
		{"in a chart whose image knows it", "v1.27.16+rke2r1", globalOff + withChart("image: {tag: v1.26.6}", "args: [--feature-gates=ControllerManagerLeaderMigration=true]"), chosen, nil},
		{"in a chart whose image does not", "", onAWS + withChart("image: {tag: v1.27.1}", "args: [--feature-gates=ControllerManagerLeaderMigration=true]"), chosen, []string{"error 20"}},
	})
}

func TestLeaderElection(t *testing.T) {
	checkRule(t, "leader-election-off", []ruleCase{
		{"on", "", onAWS + kcm + "[leader-elect=true]\n", chosen, nil},
		{"off", "", onAWS + kcm + "[v=2, leader-elect=false]\n", chosen, []string{"error 9"}},
		{"off without leader migration", "", onAWS + kcm + "[leader-elect=false]\n", transform.Target{NoLeaderMigration: true}, nil},
		{"off in the chart", "", onAWS + withChart("args:", "- --cloud-provider=aws", "- --leader-elect=false"), chosen, []string{"error 21"}},
		{"another lease", "", onAWS + kcm + "[leader-elect-resource-name=mine]\n", chosen, []string{"error 9"}},
		{"the usual lease", "", onAWS + kcm + "[leader-elect-resource-name=kube-controller-manager]\n", chosen, nil},
	})
}

func TestUnknownKeys(t *testing.T) {
	checkRule(t, "unknown-config-key", []ruleCase{
		{"known keys", "", onAWS + "  kubelet-arg: [v=2]\n", chosen, nil},
		{"a misspelt component", "", onAWS + "  kubeapi-server-arg: [v=2]\n", chosen, []string{"warning 9"}},
		{"a key that adds", "", onAWS + "machineSelectorConfig:\n- config:\n    kubelet-arg+: [v=2]\n", chosen, []string{"warning 11"}},
		{"what Rancher sets itself", "", onAWS + "  node-name: a\n  token: s3cr3t\n", chosen, []string{"warning 10", "warning 9"}},
		{"what a later release knows", "v1.22.9+rke2r2", onAWS + "  egress-selector-mode: pod\n", chosen, []string{"warning 9"}},
		{"a release that no table lists", "v1.26.99+rke2r1", onAWS, chosen, []string{"note 5"}},
		{"an assumed release that no table lists", "null", snapshots + onAWS, transform.Target{AssumeVersion: "v1.26.99+rke2r1"}, nil},
	}[:6])
}

// Newer metadata lists keys that the tables do not: the release alone does not
// show it, and no message says to remove what may be in use.
func TestKeysOfNewerMetadata(t *testing.T) {
	const key = "  node-name-from-cloud-provider-metadata: true\n"
	checkRule(t, "unknown-config-key", []ruleCase{
		{"listed later for the release", "v1.34.1+rke2r1", onAWS + key, chosen, []string{"note 9"}},
		{"a release that is not in the tables", "v1.33.5+rke2r1", onAWS + key, chosen, []string{"note 5", "note 9"}},
		{"RKE2 has it, and no metadata lists it", "v1.31.13+rke2r1", onAWS + key, chosen, []string{"note 5", "warning 9"}},
		{"RKE2 does not have it", "v1.26.15+rke2r1", onAWS + key, chosen, []string{"warning 9"}},
		{"another key of newer metadata", "v1.31.4+rke2r1", onAWS + "  ingress-controller: traefik\n", chosen, []string{"note 9"}},
		{"one that only later releases get", "v1.28.11+rke2r1", onAWS + "  ingress-controller: traefik\n", chosen, []string{"warning 9"}},
	})
	for _, version := range []string{"v1.26.15+rke2r1", "v1.31.4+rke2r1", "v1.31.13+rke2r1", "v1.33.5+rke2r1", "v1.34.1+rke2r1"} {
		for _, f := range about(linted(t, version, onAWS+key, chosen).Findings(""), "unknown-config-key") {
			assert.Truef(t, !strings.Contains(f.Fix, "remove"), "%s: %s", version, f.Fix)
		}
	}
}

func TestAdviceForUnknownKeys(t *testing.T) {
	m := cluster(t, onAWS)
	for key, want := range map[string]string{
		"kubeapi-server-arg":          "write kube-apiserver-arg",
		"kube-apiserver-arg+":         "write kube-apiserver-arg",
		"kubeControllerManagerArg":    "write kube-controller-manager-arg",
		"kube-controller-arg":         "write kube-controller-manager-arg",
		"kube_proxy_arg":              "write kube-proxy-arg",
		"kublet-arg":                  "write kubelet-arg",
		"CNI":                         "remove it",
		"protect-kernel-default":      "write protect-kernel-defaults",
		"disable-cloud-controler":     "write disable-cloud-controller",
		"cloud-provider":              "remove it", // the name or the configuration
		"node-name":                   setIn["node-name"],
		"data-dir":                    setIn["data-dir"],
		"etcd-snapshot-schedule-cron": setIn["etcd-snapshot-schedule-cron"],
		"write-kubeconfig-mode":       "remove it",
		"egress-selector-modes":       "write egress-selector-mode",
	} {
		assert.Equal(t, m.keyAdvice(key), want, key)
	}
	old := effective.LookupRelease("v1.22.9+rke2r2")
	assert.Contains(t, (&migration{Cluster: &Cluster{Machines: effective.Machines{Release: old}}}).keyAdvice("tls-san-security"), "other releases")
}

// Keys that RKE2 has and Rancher does not hand on must not be taken for slips.
func TestKeysOfRKE2AreNoSlips(t *testing.T) {
	keys := effective.LookupRelease(release).Keys()
	for _, key := range strings.Fields(`agent-token agent-token-file airgap-extra-registry alsologtostderr advertise-address advertise-port
		cluster-init cluster-reset cluster-reset-restore-path config config-file data-dir disable-apiserver disable-controller-manager
		disable-etcd etcd-disable-snapshots etcd-s3 etcd-s3-bucket etcd-s3-endpoint etcd-s3-folder etcd-s3-region etcd-s3-timeout
		etcd-snapshot-compress etcd-snapshot-dir etcd-snapshot-name etcd-snapshot-retention etcd-snapshot-schedule-cron
		image-credential-provider-bin-dir image-credential-provider-config ingress-controller kine-tls lb-server-port log log-file
		node-external-ip node-ip node-label node-name node-taint pod-security-admission-config-file prefer-bundled-bin private-registry
		secrets-encryption server servicelb-namespace enable-servicelb token token-file vmodule with-node-id write-kubeconfig write-kubeconfig-mode`) {
		near, ok := args.Nearest(key, keys)
		assert.Truef(t, !ok, "%s is taken for %s", key, near)
	}
}

func TestSlippedKeysAreRenamed(t *testing.T) {
	const entry = "machineSelectorConfig:\n- config:\n    "
	repairs(t, []struct{ name, before, want string }{
		{"the stub as answers in public call it", onAWS + "  disable-cloud-provider: true\n", onAWS + "  disable-cloud-controller: true\n"},
		{"a component", onAWS + "  kubeapi-server-arg: [v=2] # audited\n", onAWS + "  kube-apiserver-arg: [v=2] # audited\n"},
		{"a key that adds to nothing", onAWS + "  kubelet-arg+: [v=2]\n", onAWS + "  kubelet-arg: [v=2]\n"},
		{"a key that adds to a list would replace it", onAWS + "  kubelet-arg: [v=2]\n" + entry + "kubelet-arg+: [a=b]\n", onAWS + "  kubelet-arg: [v=2]\n" + entry + "kubelet-arg+: [a=b]\n"},
		{"a list for other machines is not in the way", split + onAWS + entry + "kubelet-arg+: [a=b]\n  " + forWorkers + "\n- config: {kubelet-arg: [v=2]}\n  " + forEtcd + "\n- config: {}\n",
			split + onAWS + entry + "kubelet-arg: [a=b]\n  " + forWorkers + "\n- config: {kubelet-arg: [v=2]}\n  " + forEtcd + "\n- config: {}\n"},
		{"the right one is there", onAWS + "  kubelet-arg: [v=2]\n  kubelet-args: [a=b]\n", onAWS + "  kubelet-arg: [v=2]\n  kubelet-args: [a=b]\n"},
		{"a key elsewhere", onAWS + "  data-dir: /d\n", onAWS + "  data-dir: /d\n"},
	})
}

func TestMisindentedConfiguration(t *testing.T) {
	const entries = onAWS + "machineSelectorConfig:\n"
	checkRule(t, "config-misindented", []ruleCase{
		{"below config", "", entries + "- config:\n    kubelet-arg: [v=2]\n", chosen, nil},
		{"next to a config without value", "", entries + "- config:\n  kubelet-arg: [v=2]\n  kube-proxy-arg: [v=2]\n", chosen, []string{"error 11"}},
		{"next to a config with some", "", entries + "- config:\n    kubelet-arg: [v=2]\n  kube-proxy-arg: [v=2]\n", chosen, []string{"error 12"}},
		{"without config", "", entries + "- kubelet-arg: [v=2]\n", chosen, []string{"error 10"}},
		{"misspelt as well", "", entries + "- config:\n  kublet-arg: [v=2]\n", chosen, []string{"error 11"}},
		{"a word of one's own", "", entries + "- config:\n  description: workers\n", chosen, nil},
		{"next to machineGlobalConfig", "", "machineGlobalConfig:\ncloud-provider-name: aws\n", chosen, []string{"error 8"}},
		{"in two entries", "", entries + "- config:\n  debug: true\n- config: null\n  debug: true\n", chosen, []string{"error 11", "error 13"}},
	})
}

func TestMisindentedConfigurationIsIndented(t *testing.T) {
	const page = "machineSelectorConfig:\n- config:\n  disable-cloud-controller: true\n  kube-controller-manager-arg:\n  - cloud-provider=external # ours\n  kubelet-arg:\n  - cloud-provider=external\n  "
	const right = "machineSelectorConfig:\n- config:\n    disable-cloud-controller: true\n    kube-controller-manager-arg:\n    - cloud-provider=external # ours\n    kubelet-arg:\n    - cloud-provider=external\n  "
	const plain = "\n- config: {}\n" // for Rancher's interface
	repairs(t, []struct{ name, before, want string }{
		{"as published", onAWS + page + forControlPlanes + plain, onAWS + right + forControlPlanes + plain},
		{"a null that is written out", onAWS + strings.Replace(page, "config:\n", "config: null\n", 1) + forControlPlanes + plain, onAWS + right + forControlPlanes + plain},
		{"and misspelt", onAWS + "machineSelectorConfig:\n- config:\n  kublet-arg: [v=2]\n  machineLabelSelectors: {matchLabels: {a: b}}" + plain, onAWS + "machineSelectorConfig:\n- config:\n    kubelet-arg: [v=2]\n  machineLabelSelector: {matchLabels: {a: b}}" + plain},
		{"the global one", "machineGlobalConfig:\ncloud-provider-name: aws\ncni: calico\n", onAWS + "  cni: calico\n"},
		{"not a key apart", onAWS + "machineSelectorConfig:\n- config:\n  " + forControlPlanes + "\n  debug: true" + plain, onAWS + "machineSelectorConfig:\n- config:\n  " + forControlPlanes + "\n  debug: true" + plain},
		{"not into a config with something in it", onAWS + "machineSelectorConfig:\n- config: {debug: true}\n  selinux: true\n", onAWS + "machineSelectorConfig:\n- config: {debug: true}\n  selinux: true\n"},
	})
}

// No field of Rancher's schema may be taken for an argument.
func TestFieldsAreNoArguments(t *testing.T) {
	m := cluster(t, onAWS)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[provv1.RKEConfig]()) {
		field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if field == "" || field == "-" {
			continue
		}
		assert.Equal(t, len(m.argumentsIn(parse(t, field+": a\n").Root())), 0, field)
	}
}
