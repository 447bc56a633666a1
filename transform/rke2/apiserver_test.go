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

// kube-apiserver lost the flags in 1.33, and does not start with them.
func TestSwitchRemovesTheFlagsThatKubeAPIServerLost(t *testing.T) {
	const (
		late     = "v1.33.3+rke2r1"
		list     = "  kube-apiserver-arg: "
		external = split + globalOff
		entries  = "machineSelectorConfig:\n"
	)
	for _, c := range []struct{ name, version, before, want string }{
		{"among others", late, external + list + "[v=2, cloud-provider=aws, a=b]\n", external + list + "[v=2, a=b]\n"},
		{"in a block", late, external + list + "\n  - v=2\n  - --cloud-provider=external # by hand\n", external + list + "\n  - v=2\n  # by hand\n"},
		{"alone", late, external + list + "[cloud-provider=aws]\n", external},
		{"alone, as a string", late, external + list + "cloud-provider=aws\n", external},
		{"with the configuration", late, external + list + "[cloud-provider=aws, cloud-config=/etc/aws.conf]\n", external},
		{"in an entry", late, external + entries + "- config: {kube-apiserver-arg: [v=2, cloud-provider=aws]}\n  " + forControlPlanes + "\n", external + entries + "- config: {kube-apiserver-arg: [v=2]}\n  " + forControlPlanes + "\n"},
		{"alone in an entry", late, external + entries + "- config: {kube-apiserver-arg: [cloud-provider=aws]}\n  " + forControlPlanes + "\n", external + entries + "- config: {}\n  " + forControlPlanes + "\n"},
		{"in an entry that hides others", late, external + list + "[v=2]\n" + entries + "- config: {kube-apiserver-arg: [cloud-provider=aws]}\n  " + forControlPlanes + "\n", external + list + "[v=2]\n" + entries + "- config: {kube-apiserver-arg: []}\n  " + forControlPlanes + "\n"},
		{"in both", late, external + list + "[v=2, cloud-provider=aws]\n" + entries + "- config: {kube-apiserver-arg: [v=4, cloud-provider=aws]}\n  " + forControlPlanes + "\n", external + list + "[v=2]\n" + entries + "- config: {kube-apiserver-arg: [v=4]}\n  " + forControlPlanes + "\n"},
		{"with the provider", late, split + onAWS + list + "[v=2, cloud-provider=aws]\n", split + "machineGlobalConfig:\n  cloud-provider-name: aws\n  " + stubOff + list + "[v=2]\n  kubelet-arg:\n  - cloud-provider=external\n  kube-controller-manager-arg:\n  - cloud-provider=external\n"},
		{"not on 1.32", "v1.32.7+rke2r1", external + list + "[v=2, cloud-provider=external]\n", external + list + "[v=2, cloud-provider=external]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.DeepEqual(t, afterAt(t, c.version, c.before, stages.SwitchToExternal, transform.Target{}), c.want)
		})
	}
}

// The override gives kube-apiserver no flag that the release of the same edit does not have.
func TestSwitchToAReleaseWithoutTheFlagDoesNotWriteIt(t *testing.T) {
	got := afterAt(t, "v1.32.7+rke2r1", split+onAWS+"  kube-apiserver-arg: [v=2]\n", stages.SwitchToExternal, transform.Target{Version: "v1.33.3+rke2r1"})
	assert.Truef(t, !strings.Contains(got, "kube-apiserver-arg: [v=2, cloud-provider") && strings.Contains(got, "kubelet-arg:\n  - cloud-provider=external\n"), "got\n%s", got)
}

// A kube-apiserver that exits serves no chart, so the switch comes first. A cluster that is
// external may have its manager in another way.
func TestAClusterWhoseKubeAPIServerExitsIsBroken(t *testing.T) {
	const flag = "  kube-apiserver-arg: [cloud-provider=external]\n"
	for _, c := range []struct {
		version, config string
		want            transform.Situation
	}{
		{"v1.33.3+rke2r1", onAWS + flag, transform.Broken},
		{"v1.33.3+rke2r1", onAWS, transform.NamesOnly},
		{"v1.32.7+rke2r1", onAWS + flag, transform.NamesOnly},
		{"v1.33.3+rke2r1", globalOff + flag, transform.External},
	} {
		m := targeted(t, parse(t, document(c.version, split+c.config)), transform.Target{Version: "v1.33.3+rke2r1"})
		assert.Truef(t, m.target.Situation == c.want, "%s at %s: %s", c.config, c.version, m.target.Situation)
	}
}

func TestTheSwitchNamesAFlagThatItRemoves(t *testing.T) {
	for list, want := range map[string]bool{"[v=2]": false, "[cloud-config=/a]": true} {
		m := migrated(t, parse(t, document("v1.33.3+rke2r1", split+globalOff+"  kube-apiserver-arg: "+list+"\n")))
		assert.Equal(t, strings.Contains(stageOf(t, m, stages.SwitchToExternal).Why, "The edit removes cloud-config from kube-apiserver-arg"), want, list)
	}
}
