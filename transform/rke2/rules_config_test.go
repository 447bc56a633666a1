// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestTheLeaseOfAConfigurationIsOneThatTheManagersMayLock(t *testing.T) {
	other := with(func(t *transform.Target) { t.LeaseName = "demo-migration" })
	p := planned(t, release, onAWS, other)
	installed, switched := configOf(step(t, p, stages.InstallCCM).Documents[0].After), configOf(step(t, p, stages.SwitchToExternal).Documents[0].After)
	untold := strings.ReplaceAll(installed, "        - leader-migration-config="+managerConfig+"\n", "")
	ungranted := strings.Replace(switched, "- demo-migration", "- another", 1)
	for _, c := range []struct {
		name, config string
		target       transform.Target
		found        bool
	}{
		{"the one that was chosen", installed, other, false},
		{"both managers are determined, and may", installed, chosen, false},
		{"kube-controller-manager is not determined", untold, chosen, true},
		{"kube-controller-manager is external", switched, chosen, false},
		{"no one can", ungranted, chosen, true},
	} {
		found := about(linted(t, release, c.config, c.target).Findings(""), "lease-name-differs")
		assert.Equal(t, (len(found) > 0), c.found, c.name, found, c.config)
	}
}

func TestConfigurationsAreNoUseWithoutTheirFlag(t *testing.T) {
	const named = "leader-migration-config=/etc/own.conf"
	checkRule(t, "config-without-flag", []ruleCase{
		{"with the flag", "", onAWS + "  kube-controller-manager-arg: [enable-leader-migration, " + named + "]\n", chosen, nil},
		{"without", "", onAWS + "  kube-controller-manager-arg:\n  - " + named + "\n", chosen, []string{"error 10"}},
		{"with a flag that is off", "", onAWS + "  kube-controller-manager-arg: [enable-leader-migration=false, " + named + "]\n", chosen, []string{"error 9"}},
		{"where no manager runs", "", split + onAWS + "machineSelectorConfig:\n- config: {kube-controller-manager-arg: [" + named + "]}\n  " + forWorkers + "\n", chosen, nil},
		{"of an external manager", "", strings.Replace(onAWS, "aws", "external", 1) + "  kube-controller-manager-arg:\n  - " + named + "\n", chosen, []string{"note 10"}},
		{"in the chart", "", but(1, "args: [--cloud-provider=aws, --"+named+"]"), chosen, []string{"error 20"}},
		{"in the chart, with the flag", "", but(1, "args: [--enable-leader-migration, --"+named+"]"), chosen, nil},
	})
}

func TestConfigurationsThatNoOnePutsThere(t *testing.T) {
	const named = onAWS + "  kube-controller-manager-arg: [enable-leader-migration, leader-migration-config=/etc/own.conf]\n"
	const chartArgs = "args: [--enable-leader-migration, --leader-migration-config=/etc/own/c.conf]"
	files := func(selector string) string {
		return "machineSelectorFiles:\n- fileSources:\n  - configMap: {name: own, items: [{key: c, path: /etc/own.conf}]}\n" + selector
	}
	mounted := func(mount string) string {
		return onAWS + withChart(append([]string{"extraVolumes: [{name: own, secret: {secretName: own}}]", "extraVolumeMounts: [" + mount + "]", chartArgs}, good[2:]...)...)
	}
	checkRule(t, "config-not-mounted", []ruleCase{
		{"for all machines", "", split + files("") + named, chosen, nil},
		{"for control planes", "", split + files("  "+forControlPlanes+"\n") + named, chosen, nil},
		{"for others", "", split + files("  "+forEtcd+"\n") + named, chosen, []string{"error 17"}},
		{"another file", "", named + strings.Replace(files(""), "own.conf", "other.conf", 1), chosen, []string{"error 9"}},
		{"no files", "", named, chosen, []string{"error 9"}},
		{"a file that nothing reads", "", onAWS + "  kube-controller-manager-arg: [leader-migration-config=/etc/own.conf]\n", chosen, nil},
		{"a selector that Kubernetes refuses", "", named + files("  machineLabelSelector: {matchExpressions: [{key: a, operator: Sometimes}]}\n"), chosen, []string{"error 9"}},
		{"mounted by the chart", "", mounted("{name: own, mountPath: /etc/own}"), chosen, nil},
		{"mounted as one file", "", mounted("{name: own, mountPath: /etc/own/c.conf, subPath: c}"), chosen, nil},
		{"mounted elsewhere", "", mounted("{name: own, mountPath: /etc/other}"), chosen, []string{"error 21"}},
		{"mounted from no volume", "", mounted("{name: other, mountPath: /etc/own}"), chosen, []string{"error 21"}},
		{"not mounted", "", but(1, chartArgs), chosen, []string{"error 20"}},
	})
}
