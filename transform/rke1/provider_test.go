// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

func TestTheSituationFollowsFromReleaseAndProvider(t *testing.T) {
	const kubelets = "services: {kubelet: {extra_args: {cloud-provider: aws}}}\n"
	for _, c := range []struct {
		name, version, config string
		want                  transform.Situation
	}{
		{"the last release with the in-tree provider", "v1.26.15-rancher1-1", onAWS, transform.InTree},
		{"external there", "v1.26.15-rancher1-1", isOut, transform.InTree},
		{"the first release without", "v1.27.16-rancher1-1", onAWS, transform.Broken},
		{"the last release of RKE", "v1.32.5-rancher1-1", onAWS, transform.Broken},
		{"the block of settings alone", "v1.28.15-rancher1-1", "cloud_provider: {awsCloudProvider: {}}\n", transform.Broken},
		{"a block that turns external-aws back", "v1.28.15-rancher1-1", isOut + "  awsCloudProvider: {}\n", transform.Broken},
		{"one component", "v1.28.15-rancher1-1", isOut + kubelets, transform.Broken},
		{"external, with nothing of leader migration", "v1.28.15-rancher1-1", isOut, transform.Rescued},
	} {
		m := opened(t, at(c.version, c.config), transform.Target{})
		assert.Equal(t, m.Target.Situation, c.want, c.name)
		assert.Truef(t, m.Target.NoLeaderMigration != c.want.HasInTreeProvider(), "%s: leader migration", c.name)
	}
}

func TestAMinorThatRKEDoesNotHaveIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		at("v1.33.1-rancher1-1", onAWS):                                         "c.yml:1: kubernetes_version: RKE has no release of Kubernetes 1.33, but of 1.22 to 1.32",
		at("v1.33.1-rancher1-1", isOut):                                         "c.yml:1: kubernetes_version: RKE has no release of Kubernetes 1.33",
		at("v1.32.5-rancher1-1", onAWS):                                         "",
		onAWS + "system_images: {kubernetes: 'a/hyperkube:v1.33.1-rancher1'}\n": "RKE has no release of Kubernetes 1.33",
	} {
		_, err := open(transform.Only(parse(t, text)), transform.Target{ImageTag: "v1.33.4"})
		assert.Truef(t, (want != "" || err == nil) && (want == "" || err != nil && strings.Contains(err.Error(), want)), "want %q, got %v in\n%s", want, err, text)
	}
	_, err := lint(transform.Only(parse(t, at("v1.33.1-rancher1-1", onAWS))), transform.Target{})
	assert.Truef(t, err == nil, "lint reads it all the same: %v", err)
}
