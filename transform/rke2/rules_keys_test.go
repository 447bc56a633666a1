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
