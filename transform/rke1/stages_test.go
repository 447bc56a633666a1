// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

const flagged = "services:\n  kube-controller:\n    extra_args:\n      enable-leader-migration: \"true\"\n"

func TestEnableSetsTheFlagAndKeepsTheRest(t *testing.T) {
	runStage(t, stages.EnableLeaderMigration, transform.Target{}, []stageCase{
		{"no services", onAWS, onAWS + flagged},
		{"services without a value", onAWS + "services:\n", onAWS + flagged},
		{"no service", onAWS + "services:\n  kubelet: {}\n", onAWS + "services:\n  kubelet: {}\n" + strings.TrimPrefix(flagged, "services:\n")},
		{"an empty service", onAWS + "services:\n  kube-controller: {}\n", onAWS + flagged},
		{"empty arguments", onAWS + "services:\n  kube-controller:\n    extra_args: {}\n", onAWS + flagged},
		{"other arguments", onAWS + "services:\n  kube-controller:\n    extra_args:\n      v: 2 # more\n", onAWS + "services:\n  kube-controller:\n    extra_args:\n      v: 2 # more\n      enable-leader-migration: \"true\"\n"},
		{"the flag off", onAWS + "services: {kube-controller: {extra_args: {enable-leader-migration: 'false'}}}\n", onAWS + "services: {kube-controller: {extra_args: {enable-leader-migration: 'true'}}}\n"},
		{"the flag repeated", onAWS + "services:\n  kube-controller:\n    extra_args_array:\n      enable-leader-migration:\n      - \"false\"\n", onAWS + "services:\n  kube-controller:\n    extra_args_array:\n      enable-leader-migration:\n      - \"true\"\n"},
		{"an underscore", onAWS + "services:\n  kube_controller:\n    extra_args: {v: '2'}\n", onAWS + "services:\n  kube_controller:\n    extra_args: {v: '2', enable-leader-migration: 'true'}\n"},
		{"the flag there, unquoted", onAWS + "services: {kube-controller: {extra_args: {enable-leader-migration: true}}}\n", onAWS + "services: {kube-controller: {extra_args: {enable-leader-migration: true}}}\n"},
	})
}

// An external manager with the flag would hold the lease and run nothing.
func TestNothingPutsTheFlagOnAnExternalManager(t *testing.T) {
	for _, text := range []string{isOut, onAWS + "services: {kube-controller: {extra_args: {cloud-provider: external}}}\n"} {
		p := planAt(t, at(release, text), transform.Target{})
		for _, name := range []string{stages.GrantMigrationLease, stages.EnableLeaderMigration} {
			step, _ := p.Step(name)
			assert.Truef(t, step.State == plan.Skipped && !step.Changes(), "%s is %s in\n%s", name, step.State, text)
		}
	}
}

// The permission stays in addons for good, so it shows that there was a migration.
func TestAClusterThatWasMigratedSkippedNothing(t *testing.T) {
	p := planAt(t, at(release, isOut+granted), transform.Target{})
	for _, name := range []string{stages.GrantMigrationLease, stages.EnableLeaderMigration} {
		step, _ := p.Step(name)
		assert.Truef(t, step.State == plan.Done, "%s is %s", name, step.State)
	}
}

func TestGrantAppendsToAddons(t *testing.T) {
	for name, addons := range map[string]string{
		"absent": "", "empty": "addons: \"\"\n", "null": "addons:\n", "others": "addons: |-\n  kind: A\n  ---\n  kind: B\naddons_include: [a.yaml]\n",
	} {
		got := after(t, at(release, onAWS+addons), stages.GrantMigrationLease, transform.Target{})
		docs, err := opened(t, got, transform.Target{}).Bundle().Documents()
		assert.Truef(t, err == nil && leadermigration.Granted(docs, leadermigration.Lease), "%s: %v\n%s", name, err, got)
		assert.Truef(t, strings.Contains(addons, "kind: A") == strings.Contains(got, "kind: A\n  ---\n  kind: B\n  ---\n"), "%s: the manifests of its own:\n%s", name, got)
	}
	assert.Equal(t, after(t, at(release, onAWS+granted), stages.GrantMigrationLease, transform.Target{}), at(release, onAWS+granted), "granted twice")
}

func TestSwitchMakesTheProviderExternal(t *testing.T) {
	runStage(t, stages.SwitchToExternal, transform.Target{}, []stageCase{
		{"the flag goes with what was there for it", onAWS + flagged, isOut},
		{"other arguments stay", onAWS + "services:\n  kube-controller:\n    extra_args: {enable-leader-migration: true, v: 2}\n", isOut + "services:\n  kube-controller:\n    extra_args: {v: 2}\n"},
		{"the block goes", onAWS + "  awsCloudProvider: {}\n", isOut},
		{"the block alone", "cloud_provider:\n  awsCloudProvider: {}\n", isOut},
		{"its settings stay as text", onAWS + "  awsCloudProvider:\n    global: {zone: a, kubernetes-cluster-id: 'b c'}\n", isOut + "  customCloudProvider: |-\n    [Global]\n    Zone = a\n    KubernetesClusterID = \"b c\"\n"},
		{"a text of its own stays, whatever the block says", onAWS + "  customCloudProvider: own\n  awsCloudProvider:\n    global: {zone: a}\n", isOut + "  customCloudProvider: own\n"},
		{"a block next to external-aws", isOut + "  awsCloudProvider: {}\n", isOut},
		{"an explicit false", onAWS + "  useInstanceMetadataHostname: false\n", isOut},
		{"names of its own", named + onAWS, named + "cloud_provider:\n  name: external-aws\n"},
		{"components", onAWS + "services:\n  kubelet:\n    extra_args: {cloud-provider: aws}\n    win_extra_args: {cloud-provider: aws}\n  scheduler:\n    extra_args: {cloud-provider: aws}\n", isOut + "services:\n  kubelet:\n    extra_args: {cloud-provider: external}\n    win_extra_args: {cloud-provider: external}\n  scheduler:\n    extra_args: {cloud-provider: aws}\n"},
		{"an external one", isOut, isOut},
	})
}

func TestSwitchAsksTheMetadataOnlyWhereTheReleaseCan(t *testing.T) {
	for version, want := range map[string]bool{
		"v1.24.17-rancher1-1": false, "v1.25.13-rancher1-1": false, "v1.25.14-rancher1-1": true, "v1.26.8-rancher1-1": false, "v1.26.9-rancher1-1": true,
		"v1.27.5-rancher1-1": false, "v1.27.6-rancher1-1": true, "v1.28.2-rancher1-1": true,
	} {
		assert.Equal(t, metadataSupported(version), want, version)
	}
	text := after(t, at("v1.24.17-rancher1-1", onAWS), stages.SwitchToExternal, transform.Target{})
	assert.Truef(t, !strings.Contains(text, metadataKey), "1.24 cannot:\n%s", text)
	text = after(t, at("v1.24.17-rancher1-1", onAWS), stages.SwitchToExternal, transform.Target{Version: "v1.25.16-rancher1-1"})
	assert.Equal(t, text, at("v1.25.16-rancher1-1", isOut), "1.25.16 can")
}

// An external cluster has the names that it has; who answers for them, has a say.
func TestSwitchLeavesTheMetadataToTheOperator(t *testing.T) {
	kept := outside + "  useInstanceMetadataHostname: false\n"
	for text, want := range map[string]string{
		outside: outside, kept: kept, outside + "  awsCloudProvider: {}\n": isOut,
	} {
		assert.Equal(t, after(t, at(release, text), stages.SwitchToExternal, transform.Target{}), at(release, want), want)
	}
	accepted := transform.Target{Accept: []string{ruleMetadataUnset}}
	assert.Equal(t, after(t, at(release, onAWS), stages.SwitchToExternal, accepted), at(release, outside), "accepted")
}

func TestSwitchRefusesATargetThatWouldNotCount(t *testing.T) {
	for text, want := range map[string]string{
		at(release, onAWS+"system_images: {kubernetes: 'a/hyperkube:v1.26.15-rancher1'}\n"): "a custom image keeps its release, regardless of",
		"cloud_provider: {name: aws}\n" + nodes:                                             "the file has no version, so --target-version has no version to start from",
		at("v1.27.16-rancher1-2", onAWS):                                                    "is older",
	} {
		m := opened(t, text, transform.Target{Version: "v1.27.16-rancher1-1", AssumeVersion: release})
		assert.Error(stageOf(t, m, stages.SwitchToExternal).Edit())(t, want)
	}
}
