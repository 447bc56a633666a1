// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// charted is a migrated configuration whose chart has an image and a version.
func charted(tag, version string) string {
	return split + globalOff + "additionalManifest: |-\n  apiVersion: helm.cattle.io/v1\n  kind: HelmChart\n  metadata: {name: aws-cloud-controller-manager, namespace: kube-system}\n" +
		"  spec:\n    chart: aws-cloud-controller-manager\n    failurePolicy: abort\n    repo: https://kubernetes.github.io/cloud-provider-aws\n    valuesContent: |-\n" +
		"      image: {tag: " + tag + "}\n      args: [--cloud-provider=aws, --configure-cloud-routes=false]\n      hostNetworking: true\n" +
		"      nodeSelector: {node-role.kubernetes.io/control-plane: 'true'}\n      tolerations: [{operator: Exists}]\n    version: " + version + "\n"
}

// sequence names what each plan changes.
func sequence(t *testing.T, version, config, target string) (steps []string, end string) {
	t.Helper()
	plans, err := plan.Sequence(Format(), transform.Only(parse(t, document(version, config))), transform.Target{Version: target})
	if err != nil {
		return []string{err.Error()}, ""
	}
	for _, p := range plans {
		for _, s := range p.Steps {
			if s.Changes() {
				after := s.After()[0].Root()
				release, _ := after.Get("spec", "kubernetesVersion").String()
				steps = append(steps, fmt.Sprintf("%s %s %s", s.Stage.Name, release, s.State))
			}
		}
	}
	return steps, string(plans[len(plans)-1].End()[0].Bytes())
}

func TestAnUpgradeIsASequenceOfPlans(t *testing.T) {
	for _, c := range []struct {
		name, version, config, target string
		want                          []string
		end                           []string
	}{
		{"over three minors", "v1.26.15+rke2r1", charted("v1.26.6", "0.0.8"), "v1.29.15+rke2r1", []string{
			"upgrade-kubernetes v1.27.16+rke2r2 todo", "upgrade-ccm v1.27.16+rke2r2 todo", "upgrade-kubernetes v1.28.15+rke2r1 todo",
			"upgrade-ccm v1.28.15+rke2r1 todo", "upgrade-kubernetes v1.29.15+rke2r1 todo", "upgrade-ccm v1.29.15+rke2r1 todo",
		}, []string{"{tag: v1.29.10}", "version: 0.0.11"}},
		{"a chart of one's own version", "v1.27.16+rke2r2", charted("v1.27.2", "0.0.9"), "v1.28.15+rke2r1", []string{
			"upgrade-kubernetes v1.28.15+rke2r1 todo", "upgrade-ccm v1.28.15+rke2r1 todo",
		}, []string{"version: 0.0.9"}},
		{"a later patch asks for no other image", "v1.30.12+rke2r1", charted("v1.30.2", "0.0.11"), "v1.30.14+rke2r1", []string{"upgrade-kubernetes v1.30.14+rke2r1 todo"}, []string{"{tag: v1.30.2}"}},
		{"an image of an older minor comes first", "v1.30.14+rke2r1", charted("v1.29.10", "0.0.11"), "v1.31.11+rke2r1", []string{
			"upgrade-ccm v1.30.14+rke2r1 todo", "upgrade-kubernetes v1.31.11+rke2r1 todo", "upgrade-ccm v1.31.11+rke2r1 todo",
		}, []string{"{tag: v1.31.9}"}},
		{"flags that kube-apiserver loses", "v1.32.7+rke2r1", strings.Replace(charted("v1.32.8", "0.0.11"), "  "+stubOff, "  "+stubOff+"  kube-apiserver-arg: [v=2, cloud-provider=external]\n", 1), "v1.33.3+rke2r1", []string{
			"upgrade-kubernetes v1.33.3+rke2r1 todo", "upgrade-ccm v1.33.3+rke2r1 todo",
		}, []string{"kube-apiserver-arg: [v=2]\n"}},
		{"a gate that the release does not know", "v1.26.15+rke2r1", charted("v1.26.6", "0.0.8") + "machineSelectorConfig:\n- config: {kubelet-arg: [feature-gates=CSIMigrationAWS=true]}\n", "v1.27.16+rke2r2", []string{
			"upgrade-kubernetes v1.27.16+rke2r2 blocked", "upgrade-ccm v1.27.16+rke2r2 todo",
		}, nil},
		{"without the chart", "v1.28.15+rke2r1", split + globalOff, "v1.30.14+rke2r1", []string{"upgrade-kubernetes v1.29.15+rke2r1 todo", "upgrade-kubernetes v1.30.14+rke2r1 todo"}, nil},
		{"nothing is left", "v1.30.14+rke2r1", charted("v1.30.10", "0.0.11"), "v1.30.14+rke2r1", nil, nil},
		{"names only: the migration comes first", "v1.31.11+rke2r1", split + onAWS, "v1.33.3+rke2r1", []string{
			"install-ccm v1.31.11+rke2r1 todo", "switch-to-external v1.31.11+rke2r1 todo", "upgrade-kubernetes v1.32.7+rke2r1 todo",
			"upgrade-ccm v1.32.7+rke2r1 todo", "upgrade-kubernetes v1.33.3+rke2r1 todo", "upgrade-ccm v1.33.3+rke2r1 todo",
		}, []string{"tag: v1.33.4"}},
		{"names only, to the next minor: the switch moves the release", "v1.31.11+rke2r1", split + onAWS, "v1.32.7+rke2r1", []string{
			"install-ccm v1.31.11+rke2r1 todo", "switch-to-external v1.32.7+rke2r1 todo", "upgrade-ccm v1.32.7+rke2r1 todo",
		}, []string{"tag: v1.32.8"}},
		{"an image that is not known", "v1.34.1+rke2r1", charted("v1.34.3", "0.0.11"), "v1.36.0+rke2r1", []string{"no release of Kubernetes 1.35 is known"}, nil},
		{"the last known minor and one more", "v1.36.0+rke2r1", charted("v1.36.1", "0.0.11"), "v1.37.0+rke2r1", []string{"no cloud-controller-manager image is known for Kubernetes 1.37, but for 1.22 to 1.36"}, nil},
	} {
		got, end := sequence(t, c.version, c.config, c.target)
		if len(c.want) == 1 && len(got) == 1 && strings.Contains(got[0], c.want[0]) {
			continue
		}
		assert.Truef(t, slices.Equal(got, c.want), "%s:\n%s", c.name, strings.Join(got, "\n"))
		assert.ContainsAll(t, end, c.end, c.name)
	}
}

func TestTheChecksOfAnUpgradeCanFail(t *testing.T) {
	target := transform.Target{Version: "v1.33.3+rke2r1"}
	before := charted("v1.32.8", "0.0.11") + "machineSelectorConfig:\n- config: {kube-apiserver-arg: [v=2, cloud-provider=external]}\n"
	now := targeted(t, parse(t, document("v1.32.7+rke2r1", before)), target)
	for _, c := range []struct{ stage, version, old, new, want string }{
		{stages.UpgradeKubernetes, "v1.33.3+rke2r1", ", cloud-provider=external", "", ""},
		{stages.UpgradeKubernetes, "v1.33.3+rke2r1", "", "", "kube-apiserver would keep cloud-provider"},
		{stages.UpgradeKubernetes, "v1.33.2+rke2r1", ", cloud-provider=external", "", "the release would not be v1.33.3+rke2r1"},
		{stages.UpgradeKubernetes, "v1.33.3+rke2r1", "v=2, cloud-provider=external", "v=4", "kube-apiserver-arg would change"},
		{stages.UpgradeCCM, "v1.33.3+rke2r1", "v1.32.8", "v1.33.4", ""},
		{stages.UpgradeCCM, "v1.33.3+rke2r1", "", "", "the image would be v1.32.8 on Kubernetes v1.33"},
		{stages.UpgradeCCM, "v1.33.3+rke2r1", "v=2", "v=4", "kube-apiserver-arg would change"},
	} {
		from := now
		if c.stage == stages.UpgradeCCM {
			from = targeted(t, parse(t, document("v1.33.3+rke2r1", before)), now.Target)
		}
		after := targeted(t, parse(t, document(c.version, strings.Replace(before, c.old, c.new, 1))), now.Target)
		err := stageOf(t, from, c.stage).Check(after)
		assert.Truef(t, (c.want != "" || err == nil) && (c.want == "" || err != nil && strings.Contains(err.Error(), c.want)), "%s, %q → %q: %v", c.stage, c.old, c.new, err)
	}
}
