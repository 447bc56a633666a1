// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

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

// ruleCase is a configuration and what one rule says about it, as severity and
// line. The first line of a configuration is line 2.
type ruleCase struct {
	name, config string
	version      string // "" for one of the minor 1.26
	target       transform.Target
	stage        string // checked after it; "" for the document as it is
	want         []string
}

func checkRule(t *testing.T, rule string, cases []ruleCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(rule+", "+c.name, func(t *testing.T) {
			if c.version == "" {
				c.version = release
			}
			cluster := assert.Value(Format().Lint(transform.Only(parse(t, at(c.version, c.config))), c.target))(t)
			var got []string
			for _, f := range cluster.Findings(c.stage) {
				if f.Rule != rule {
					continue
				}
				got = append(got, fmt.Sprintf("%s %d", f.Severity, f.Line))
				assert.True(t, f.Message != "" && f.Fix != "" && f.File == "c.yml", f)
			}
			slices.Sort(got)
			assert.DeepEqual(t, got, c.want)
		})
	}
}

const outside = "cloud_provider:\n  name: external-aws\n"

func TestRulesOfTheProvider(t *testing.T) {
	checkRule(t, "aws-block-resets", []ruleCase{
		{name: "a block next to external-aws", config: isOut + "  awsCloudProvider: {}\n", want: []string{"error 5"}},
		{name: "a block without a value", config: isOut + "  awsCloudProvider:\n", want: []string{"error 5"}},
		{name: "a block next to aws", config: onAWS + "  awsCloudProvider: {}\n"},
	})
	second := "addons: |-\n  kind: ConfigMap\n  ---\n  kind: DaemonSet\n  spec:\n    template:\n      spec:\n        containers:\n        - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.26.6\n          args: [--cloud-provider=aws%s]\n"
	checkRule(t, "ccm-flag-missing", []ruleCase{
		{name: "addons run a second owner", config: onAWS + fmt.Sprintf(second, ""), want: []string{"error 12"}},
		{name: "it migrates", config: onAWS + fmt.Sprintf(second, ", --enable-leader-migration")},
		{name: "it is the only owner", config: isOut + fmt.Sprintf(second, "")},
		{name: "two were chosen", config: onAWS + fmt.Sprintf(second, ""), target: transform.Target{NoLeaderMigration: true}, want: []string{"warning 12"}},
	})
	checkRule(t, "ccm-args-unsafe", []ruleCase{
		{name: "safe", config: onAWS + fmt.Sprintf(second, ", --configure-cloud-routes=false")},
		{name: "routes", config: onAWS + fmt.Sprintf(second, ""), want: []string{"error 12"}},
		{name: "routes after the switch", config: isOut + fmt.Sprintf(second, ""), want: []string{"error 13"}},
	})
	const flag = "services: {kube-controller: {extra_args: {enable-leader-migration: 'true'}}}\n"
	checkRule(t, "lease-grant-missing", []ruleCase{
		{name: "the flag alone", config: onAWS + flag, want: []string{"warning 4"}},
		{name: "with the permission", config: onAWS + flag + granted},
		{name: "with other addons", config: onAWS + flag + "addons: |-\n  kind: ConfigMap\n", want: []string{"warning 4"}},
		{name: "off", config: onAWS + strings.Replace(flag, "true", "false", 1)},
		{name: "external", config: isOut + flag},
	})
	checkRule(t, "provider-removed", []ruleCase{
		{name: "no sign of a provider", config: "cloud_provider: {name: ''}\n" + nodes},
		{name: "the flag is left", config: "cloud_provider: {name: ''}\n" + flag, want: []string{"error 2"}},
		{name: "a manager is left", config: nodes + fmt.Sprintf(second, ""), want: []string{"error 1"}},
		{name: "the metadata is left", config: "cloud_provider: {useInstanceMetadataHostname: true}\n", want: []string{"error 2"}},
		{name: "aws", config: onAWS + flag},
		{name: "another one", config: "cloud_provider: {name: azure}\n" + flag},
	})
	checkRule(t, transform.RuleNotMigratable, []ruleCase{
		{name: "aws", config: onAWS},
		{name: "external-aws", config: isOut},
		{name: "external", config: "cloud_provider:\n  name: external\n", want: []string{"error 2"}},
		{name: "azure", config: "cloud_provider:\n  name: azure\n", want: []string{"error 2"}},
		{name: "none", config: nodes, want: []string{"error 1"}},
	})
	checkRule(t, "cloud-config-lost", []ruleCase{
		{name: "a file of the manager", config: isOut + "services: {kube-controller: {extra_args: {cloud-config: /a}}}\n", want: []string{"error 5"}},
		{name: "settings of the block", config: onAWS + "  awsCloudProvider: {global: {zone: a}}\n", want: []string{"note 4"}},
		{name: "an empty block", config: onAWS + "  awsCloudProvider: {}\n"},
		{name: "a text after the switch", config: isOut + "  customCloudProvider: a\n"},
	})
	checkRule(t, "in-tree-gone", []ruleCase{
		{name: "at 1.27", version: "v1.27.16-rancher1-1", config: onAWS, want: []string{"error 2"}},
		{name: "a component at 1.27", version: "v1.27.16-rancher1-1", config: isOut + "services: {kubelet: {extra_args: {cloud-provider: aws}}}\n", want: []string{"error 5"}},
		{name: "a target at 1.27", config: onAWS, target: transform.Target{Version: "v1.27.16-rancher1-1"}, want: []string{"error 2"}},
		{name: "a target at 1.27, before the switch", config: onAWS, target: transform.Target{Version: "v1.27.16-rancher1-1"}, stage: stages.EnableLeaderMigration},
		{name: "at 1.26", config: onAWS},
	})
	checkRule(t, "flag-left-on-kcm", []ruleCase{
		{name: "external with the flag", config: isOut + "services: {kube-controller: {extra_args: {enable-leader-migration: true}}}\n", want: []string{"error 5"}},
		{name: "repeated", config: isOut + "services: {kube-controller: {extra_args_array: {enable-leader-migration: ['true']}}}\n", want: []string{"error 5"}},
		{name: "in-tree by the block", config: isOut + "  awsCloudProvider: {}\n" + flagged},
	})
	checkRule(t, "rke-too-old", []ruleCase{
		{name: "no version is stated", config: onAWS, want: []string{"note 3"}},
		{name: "RKE 1.4.14", config: onAWS, target: transform.Target{RKEVersion: "v1.4.14"}, want: []string{"error 3"}},
		{name: "RKE 1.4.15", config: onAWS, target: transform.Target{RKEVersion: "1.4.15"}},
		{name: "RKE 1.5.0", config: onAWS, target: transform.Target{RKEVersion: "v1.5.0"}},
		{name: "RKE 1.3.20", config: onAWS, target: transform.Target{RKEVersion: "v1.3.20"}, want: []string{"error 3"}},
		{name: "Rancher 2.7.10", config: onAWS, target: transform.Target{RancherVersion: "2.7.10"}, want: []string{"error 3"}},
		{name: "Rancher 2.8.0", config: onAWS, target: transform.Target{RancherVersion: "v2.8.0"}},
		{name: "Rancher 2.12.0 has no RKE", config: onAWS, target: transform.Target{RancherVersion: "v2.12.0"}, want: []string{"error 3"}},
		{name: "an unknown Rancher", config: onAWS, target: transform.Target{RancherVersion: "v2.99.0"}, want: []string{"error 3"}},
		{name: "a new RKE and an old Rancher", config: onAWS, target: transform.Target{RKEVersion: "1.5.0", RancherVersion: "2.6.9"}, want: []string{"error 3"}},
	})
}

func TestRulesOfTheNodes(t *testing.T) {
	both := nodes + "- {address: 203.0.113.2, internal_address: 10.0.0.2, hostname_override: ip-10-0-0-2.ec2.internal, role: [worker]}\n"
	checkRule(t, "metadata-hostname-conflict", []ruleCase{
		{name: "one node has a name", config: both + isOut, want: []string{"error 4"}},
		{name: "no node has one", config: nodes + isOut},
		{name: "the metadata is not asked", config: both + outside},
	})
	checkRule(t, "metadata-hostname-unset", []ruleCase{
		{name: "no nodes in the file", config: outside, want: []string{"error 2"}},
		{name: "a false", config: outside + "  useInstanceMetadataHostname: false\n", want: []string{"error 4"}},
		{name: "one of two has a name", config: both + outside, want: []string{"error 5"}},
		{name: "the labels are the names", config: outside, target: transform.Target{HostNames: transform.HostNames{"a": "a"}}},
		{name: "a label is another name", config: outside, target: transform.Target{HostNames: transform.HostNames{"a": "a", "b": "c"}}, want: []string{"error 2"}},
		{name: "all have one", config: named + outside},
		{name: "the metadata is asked", config: isOut},
		{name: "in-tree", config: onAWS},
	})
	checkRule(t, "metadata-hostname-unsupported", []ruleCase{
		{name: "1.24", version: "v1.24.17-rancher1-1", config: isOut, want: []string{"error 4"}},
		{name: "1.24, moved to 1.25.16", version: "v1.24.17-rancher1-1", config: isOut, target: transform.Target{Version: "v1.25.16-rancher1-1"}},
		{name: "1.26.9", version: "v1.26.9-rancher1-1", config: isOut},
	})
	checkRule(t, "node-address-missing", []ruleCase{
		{name: "a public address", config: "nodes:\n- {address: 203.0.113.1, role: [controlplane]}\n" + onAWS, want: []string{"error 3"}},
		{name: "a name for an address", config: "nodes:\n- {address: a.example.com, role: [controlplane]}\n" + onAWS, want: []string{"error 3"}},
		{name: "a private address", config: "nodes:\n- {address: 10.0.0.1, role: [controlplane]}\n" + onAWS, want: []string{"warning 3"}},
		{name: "another provider", config: "nodes:\n- {address: 203.0.113.1, role: [controlplane]}\n"},
		{name: "an internal address", config: nodes + onAWS},
		{name: "a name of its own", config: named + onAWS},
		{name: "its address for a name", config: "nodes:\n- {address: a.example.com, hostname_override: a.example.com, role: [controlplane]}\n" + onAWS, want: []string{"error 3"}},
	})
}

func TestRulesOfTheArguments(t *testing.T) {
	checkRule(t, "extra-args-type", []ruleCase{
		{name: "a cluster.yml", config: onAWS + "services:\n  kubelet:\n    extra_args:\n      max-pods: 200\n      a: 'true'\n      b: yes\n", want: []string{"note 7", "note 9"}},
		{name: "what comes as a list", config: onAWS + "services: {kubelet: {extra_args_array: {a: [true]}}}\n"},
	})
	checkRule(t, "csi-gate-stale", []ruleCase{
		{name: "off at 1.25", version: "v1.25.16-rancher1-1", config: onAWS + "services:\n  scheduler: {extra_args: {feature-gates: 'A=true, CSIMigrationAWS=false'}}\n", want: []string{"error 5"}},
		{name: "off at 1.24", version: "v1.24.17-rancher1-1", config: onAWS + "services: {kubelet: {extra_args: {feature-gates: CSIMigrationAWS=false}}}\n", want: []string{"note 4"}},
		{name: "named for a target at 1.27", config: onAWS + "services: {kubelet: {extra_args: {feature-gates: CSIMigrationAWS=true}}}\n", target: transform.Target{Version: "v1.27.16-rancher1-1"}, want: []string{"error 4"}},
	})
	checkRule(t, "flag-on-external-gate", []ruleCase{
		{name: "off", config: onAWS + "services: {kube-controller: {extra_args: {feature-gates: ControllerManagerLeaderMigration=false}}}\n", want: []string{"error 4"}},
	})
	checkRule(t, "leader-election-off", []ruleCase{
		{name: "off", config: onAWS + "services: {kube-controller: {extra_args: {leader-elect: 'false'}}}\n", want: []string{"error 4"}},
		{name: "a lease that is too long", config: onAWS + "services:\n  kube-controller:\n    extra_args:\n      leader-elect-lease-duration: 5m\n", want: []string{"error 7"}},
		{name: "external", config: isOut + "services: {kube-controller: {extra_args: {leader-elect: 'false'}}}\n"},
		{name: "without leader migration", config: onAWS + "services: {kube-controller: {extra_args: {leader-elect: 'false'}}}\n", target: transform.Target{NoLeaderMigration: true}},
	})
	checkRule(t, "unknown-config-key", []ruleCase{
		{name: "an underscore in a cluster.yml", config: onAWS + "services:\n  kube_controller: {}\n  kube_api: {}\n", want: []string{"warning 5", "warning 6"}},
		{name: "a dash", config: onAWS + "services: {kube-controller: {}}\n"},
	})
}

func TestAnUnquotedArgumentIsAnErrorInTheAPI(t *testing.T) {
	doc := parse(t, `{"rancherKubernetesEngineConfig": {"kubernetesVersion": "v1.26.15-rancher1-1", "cloudProvider": {"name": "aws"}, "services": {"kubelet": {"extraArgs": {"max-pods": 200}}}}}`)
	p := assert.Value(plan.Build(Format(), transform.Only(doc), transform.Target{}))(t)
	for _, name := range []string{stages.GrantMigrationLease, stages.EnableLeaderMigration, stages.SwitchToExternal} {
		s, _ := p.Step(name)
		assert.Truef(t, s.State == plan.Blocked, "%s is %s", name, s.State)
	}
	c := assert.Value(Format().Lint(transform.Only(doc), transform.Target{}))(t)
	fixed, made := plan.Repair(Format(), c, transform.Target{})
	assert.Truef(t, len(made) == 1 && fixed.Documents()[0].Root().Get("rancherKubernetesEngineConfig", "services", "kubelet", "extraArgs", "max-pods").Value() == "200", "%v\n%s", made, fixed.Documents()[0].Bytes())
}

// What takes a decision is not corrected: a block next to external-aws makes the
// cluster in-tree, and without it the switch would be made.
func TestNothingThatIsTheSwitchIsCorrected(t *testing.T) {
	text := at(release, outside+"  awsCloudProvider: {global: {zone: a}}\n")
	c := assert.Value(Format().Lint(transform.Only(parse(t, text)), transform.Target{}))(t)
	fixed, made := plan.Repair(Format(), c, transform.Target{})
	assert.Truef(t, len(made) == 0 && string(fixed.Documents()[0].Bytes()) == text, "%v\n%s", made, fixed.Documents()[0].Bytes())
}
