// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// heron is an object of Rancher with RKE's configuration.
func heron(config string) string {
	return `{"apiVersion":"management.cattle.io/v3","kind":"Cluster","metadata":{"name":"c-heron"},"spec":{"displayName":"heron","rancherKubernetesEngineConfig":` + config + `}}`
}

func value(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTwoObjectsAreTheSameToRancher(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		alike      bool
	}{
		{"empty services", `{"services":{"kubeController":{},"etcd":{}}}`, `{}`, true},
		{"null, empty texts, lists and zeros", `{"addons":"","nodes":null,"addonsInclude":[],"addonJobTimeout":0,"services":{"kubeController":{"extraArgs":{}}}}`, `{}`, true},
		{"keys that its types do not know", `{"odd":1}`, `{}`, true},
		{"a block of settings without any makes the provider aws", `{"cloudProvider":{"name":"external-aws","awsCloudProvider":{}}}`, `{"cloudProvider":{"name":"external-aws"}}`, false},
		{"an explicit false is kept", `{"cloudProvider":{"useInstanceMetadataHostname":false}}`, `{}`, false},
		{"an argument", `{"services":{"kubeController":{"extraArgs":{"v":"2"}}}}`, `{"services":{"kubeController":{"extraArgs":{"v":"4"}}}}`, false},
		{"what Rancher refuses is compared as it is", `{"nodes":7}`, `{"nodes":7,"addons":""}`, false},
	} {
		if got := Distro().Alike(value(t, heron(c.a)), value(t, heron(c.b))); got != c.alike {
			t.Errorf("%s: %t", c.name, got)
		}
	}
	const file = "services: {kube-controller: {}}\ncloud_provider: {name: aws}\n"
	if Distro().IsObject(parse(t, file)) || Distro().IsObject(parse(t, "rancher_kubernetes_engine_config: {services: {}}\n")) || !Distro().IsObject(parse(t, heron("{}"))) {
		t.Error("a file of people is an object")
	}
}

// Rancher writes an empty mapping for every service.
func TestAServiceOfAnObjectStaysEmpty(t *testing.T) {
	const services = `"services":{"etcd":{},"kubeApi":{},"kubeController":{%s},"kubelet":{}}`
	config := `{"kubernetesVersion":"v1.26.15-rancher1-1","cloudProvider":{"name":"aws","useInstanceMetadataHostname":true},"addons":"kind: ConfigMap\napiVersion: v1\nmetadata: {name: own, namespace: default}\n",` + services + `}`
	doc := parse(t, heron(fmt.Sprintf(config, "")))
	target := transform.Target{EndState: transform.EndStateExternal}
	p, err := transform.Build(Distro(), transform.Only(doc), target)
	if err != nil {
		t.Fatal(err)
	}
	manager := func(d *yamledit.Document) string {
		n := d.Root().Get("spec", engineKey, "services", "kubeController")
		if !n.Exists() {
			return "none"
		}
		text, _ := json.Marshal(n.Value())
		return string(text)
	}
	for stage, want := range map[string]string{
		stages.EnableLeaderMigration: `{"extraArgs":{"enable-leader-migration":"true"}}`, stages.SwitchToExternal: `{}`,
	} {
		s, err := p.Named(stage)
		if err != nil || manager(s.Documents[0].After) != want {
			t.Errorf("%s: %v %s", stage, err, manager(s.Documents[0].After))
		}
		target.CanonicalForm = true
		back, err := transform.Undo(Distro(), s.After(), target, stage, false)
		if err != nil || len(back) != 1 || manager(back[0].Documents[0].After) != manager(s.Documents[0].Before) {
			t.Errorf("%s is not undone: %v", stage, err)
		}
	}
	for _, left := range []string{fmt.Sprintf(services, ""), `"services":{"etcd":{},"kubeApi":{},"kubelet":{}}`} {
		last, _ := p.Named(stages.SwitchToExternal)
		text := string(last.After()[0].Root().JSON())
		d := parse(t, strings.Replace(text, fmt.Sprintf(services, ""), left, 1))
		back, err := transform.Undo(Distro(), transform.Only(d), target, stages.SwitchToExternal, false)
		if err != nil || len(back) != 1 || !strings.Contains(manager(back[0].Documents[0].After), "enable-leader-migration") {
			t.Errorf("%s: %v", left, err)
		}
	}
}
