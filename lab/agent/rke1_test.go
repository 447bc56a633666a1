// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// notByRKE returns the arguments that RKE does not set by itself to the same value.
func notByRKE(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(a string) bool {
		name, value, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		return rkeOptions[name] == value
	})
}

func TestRKE1IsReadInItsThreeSpellings(t *testing.T) {
	want := []string{"--cloud-provider=external", "--enable-leader-migration=true", "--leader-migration-config=/host/etc/kubernetes/lm.conf", "--v=2"}
	for name, text := range map[string]string{
		"cluster.yml":         "cloud_provider: {name: external-aws}\nservices:\n  kube-controller:\n    extra_args: {v: \"2\", enable-leader-migration: true, leader-migration-config: /etc/kubernetes/lm.conf}\n",
		"as Rancher shows it": "rancher_kubernetes_engine_config:\n  cloud_provider: {name: external-aws}\n  services:\n    kube-controller:\n      extra_args: {v: \"2\", enable-leader-migration: \"true\", leader-migration-config: /etc/kubernetes/lm.conf}\n",
		"Rancher's API":       "rancherKubernetesEngineConfig:\n  cloudProvider: {name: external-aws}\n  services:\n    kubeController:\n      extraArgs: {v: \"2\", enable-leader-migration: \"true\", leader-migration-config: /etc/kubernetes/lm.conf}\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := assert.Value(FromRKE1(parse(t, text), Related{Values: parse(t, "image: {tag: v1.26.6}\nargs: [--cloud-provider=aws]\n")}, "/host"))(t)
			if diff := cmp.Diff(want, notByRKE(w.KCM)); diff != "" || !w.External || w.CCM.Minor != "v1.26" {
				t.Errorf("external %v, chart %+v, arguments (-want +got):\n%s", w.External, w.CCM, diff)
			}
		})
	}
}

func TestTheBlockOfAWSSettingsBringsTheInTreeProviderBack(t *testing.T) {
	w, err := FromRKE1(parse(t, "cloud_provider:\n  name: external-aws\n  awsCloudProvider: {}\n"), Related{}, "")
	if err != nil || w.External || !cmp.Equal(notByRKE(w.KCM), []string{"--cloud-provider=aws"}) {
		t.Error(w, err)
	}
}

func TestAnArgumentOfTheUserWinsOverRKEsOwn(t *testing.T) {
	w, err := FromRKE1(parse(t, "services:\n  kube-controller:\n    extra_args: {leader-elect: \"false\"}\n"), Related{}, "")
	if err != nil || !slices.Contains(w.KCM, "--leader-elect=false") || slices.Contains(w.KCM, "--leader-elect=true") {
		t.Error(w.KCM, err)
	}
}

func TestAFileThatRKEDoesNotMountIsAnError(t *testing.T) {
	_, err := FromRKE1(parse(t, "services:\n  kube-controller:\n    extra_args: {leader-migration-config: /etc/lm.conf}\n"), Related{}, "")
	assert.ErrorContains(t, err, "/etc/kubernetes/")
}

func TestTheProvidersSettingsAreThoseThatRKEWrites(t *testing.T) {
	for _, c := range []struct{ name, provider, want string }{
		{"of a block", "{name: aws, awsCloudProvider: {global: {zone: eu-west-1a, kubernetes-cluster-id: lab}}}", "[Global]\nZone = eu-west-1a KubernetesClusterID = lab"},
		{"a user's own text", "{name: external-aws, customCloudProvider: \"[Global]\\nVPC = vpc-1\"}", "[Global] VPC = vpc-1"},
		{"none", "{name: aws}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := assert.Value(FromRKE1(parse(t, "cloud_provider: "+c.provider+"\n"), Related{}, ""))(t)
			settings := strings.Join(strings.Fields(w.CloudConfig), " ")
			for _, want := range strings.Fields(c.want) {
				assert.Contains(t, settings, want)
			}
			if c.want == "" && settings != "" {
				t.Errorf("%q", settings)
			}
		})
	}
}

// mountingValues mount a Secret and a ConfigMap, as charts do.
const mountingValues = `image: {tag: v1.28.1}
args: [--v=2, --cloud-config=/etc/settings/cloud.conf, --leader-migration-config=/etc/lm/leadermigration.conf]
extraVolumes:
  - {name: settings, secret: {secretName: settings}}
  - {name: lm, configMap: {name: lm}}
extraVolumeMounts:
  - {name: settings, mountPath: /etc/settings}
  - {name: lm, mountPath: /etc/lm}
`

func TestWhatAChartMountsComesFromTheObjectsNextToIt(t *testing.T) {
	secret := parse(t, "kind: Secret\nmetadata: {name: settings}\nstringData: {cloud.conf: '[Global]'}\n")
	config := parse(t, "kind: ConfigMap\nmetadata: {name: lm}\ndata: {leadermigration.conf: 'kind: X'}\n")
	host := t.TempDir()
	chart := assert.Value(chartOf(Related{parse(t, mountingValues), []*yamledit.Document{secret, config}}, host))(t)
	file := filepath.Join(host, "pods/etc/lm/leadermigration.conf")
	text, err := os.ReadFile(file)
	if err != nil || string(text) != "kind: X" || chart.CloudConfig != "[Global]" {
		t.Errorf("configuration %q (%v), settings %q", text, err, chart.CloudConfig)
	}
	assert.DeepEqual(t, chart.Args, []string{"--v=2", "--leader-migration-config=" + file})
	assert.Error(chartOf(Related{parse(t, mountingValues), []*yamledit.Document{secret}}, host))(t, "/etc/lm/leadermigration.conf", "without the ConfigMap:")
}
