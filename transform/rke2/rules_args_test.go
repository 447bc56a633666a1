// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"testing"

	"github.com/rke-lm/rke-lm/transform"
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
