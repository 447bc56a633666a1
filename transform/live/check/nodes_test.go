// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

func condition(status string) *observed.Condition {
	return &observed.Condition{Status: status, Reason: "KubeletNotReady", Since: time.Date(2025, 3, 11, 9, 58, 7, 0, time.UTC)}
}

// unready checks nodes by the one rule.
func unready(before *observed.Snapshot, nodes ...observed.Node) []transform.Finding {
	return ofRule(idNodeNotReady, &observed.Observation{Nodes: nodes, Before: before, Partial: true, Kinds: []string{observed.Nodes}}, Choice{})
}

func TestANodeIsNotReadyByItsCondition(t *testing.T) {
	control := map[string]string{observed.ControlPlaneLabels[0]: "true"}
	well := observed.Node{Name: "well", Ready: condition("True")}
	was := &observed.Snapshot{Nodes: []observed.NodeIdentity{{Name: "n", Ready: true}}}
	old := &observed.Snapshot{Nodes: []observed.NodeIdentity{{Name: "n"}}} // of an earlier version
	for _, c := range []struct {
		name   string
		before *observed.Snapshot
		node   observed.Node
		want   transform.Severity
		says   string
	}{
		{"a control plane", nil, observed.Node{Labels: control, Ready: condition("False")}, transform.Error, "its condition Ready is False (KubeletNotReady) since 2025-03-11 09:58:07 UTC"},
		{"whose kubelet is silent", nil, observed.Node{Labels: control, Ready: condition("Unknown")}, transform.Error, "is NotReady: its kubelet stopped reporting its status"},
		{"without the condition", nil, observed.Node{Labels: control}, transform.Error, "no condition Ready"},
		{"that is ready", nil, observed.Node{Labels: control, Ready: condition("True")}, "", ""},
		{"a worker", nil, observed.Node{Ready: condition("False")}, transform.Warning, "is NotReady"},
		{"that was ready", was, observed.Node{Ready: condition("False")}, transform.Error, "is NotReady"},
		{"of which a snapshot does not tell", old, observed.Node{Ready: condition("False")}, transform.Warning, "is NotReady"},
	} {
		c.node.Name = "n"
		found := unready(c.before, well, c.node)
		assert.Must(t, len(found) == 1 == (c.want != ""), c.name, found)
		for _, f := range found {
			assert.True(t, f.Severity == c.want && f.Path == "nodes/n" && strings.Contains(f.Message, c.says) && f.Fix != "", c.name, f)
		}
	}
}

func TestNodesOfWhichNoneHasTheConditionWereNotAsked(t *testing.T) {
	found := unready(nil, observed.Node{Name: "a", Labels: map[string]string{observed.ControlPlaneLabels[0]: "true"}}, observed.Node{Name: "b"})
	assert.True(t, len(found) == 0, found)
}

func TestASnapshotShowsWhichNodesWereReady(t *testing.T) {
	o := &observed.Observation{Nodes: []observed.Node{{Name: "a", Ready: condition("True")}, {Name: "b", Ready: condition("Unknown")}, {Name: "c"}}}
	for i, n := range o.Snapshot("").Nodes {
		assert.Equal(t, n.Ready, (i == 0), n)
	}
}

// Every provider ID is either right or found by one rule.
func TestProviderIDsAreReadAsTheProviderReadsThem(t *testing.T) {
	const fine = ""
	for id, want := range map[string]string{
		"aws:///eu-west-1a/i-0a4c19d2e7b35f801":            fine,
		"aws:////i-0a4c19d2e7b35f801":                      fine,
		"aws:///eu-west-1a/i-5b1c8f62":                     fine,
		"aws:///eu-west-1a/fargate-ip-10-0-1-20.eu-west-1": fine,
		"aws:///eu-west-1a/1abc-2def/fargate-ip-10-0-1-20": fine,
		"":                                            "provider-id-missing",
		"rke2://ip-10-0-1-20":                         "provider-id-foreign",
		"k3s://ip-10-0-1-20":                          "provider-id-foreign",
		"azure:///subscriptions/0/vm":                 "provider-id-foreign",
		"i-0a4c19d2e7b35f801":                         "provider-id-malformed",
		"aws://eu-west-1a/i-0a4c19d2e7b35f801":        "provider-id-malformed",
		"aws:///i-0a4c19d2e7b35f801":                  "provider-id-malformed",
		"aws:///eu-west-1a/":                          "provider-id-malformed",
		"aws:///eu-west-1a/i-":                        "provider-id-malformed",
		"aws:///eu-west-1a/x/i-0a4c19d2e7b35f80":      "provider-id-malformed",
		"aws:///eu-west-1a/ip-10-0-1-20":              "provider-id-malformed",
		"aws:///eu-west-1a/x/ip-10-0-1-20":            "provider-id-malformed",
		"eks-hybrid:///us-west-2/prod/mi-0a4c19":      "provider-id-foreign",
		"aws:///us-west-2-lax-1a/i-0a4c19d2e7b35f801": "provider-id-zone-mismatch",
		"aws:///us-gov-west-1a/i-5b1c8f62":            "provider-id-zone-mismatch",
		"aws:///cn-north-1a/i-0a4c19d2e7b35f801":      "provider-id-zone-mismatch",
		"AWS:///eu-west-1a/i-0a4c19d2e7b35f801":       "provider-id-malformed",
		"Azure:///subscriptions/0/vm":                 "provider-id-foreign",
		"aws:///eu-west-1a/i-foo":                     "provider-id-malformed",
		"aws:///eu-west-1a/i-0a4c19d2e7b3":            "provider-id-malformed",
		"aws:///eu-west-1a/i-0A4C19D2E7B35F801":       "provider-id-malformed",
		"aws:///eu-west-1a/i-0a4c19d2e7b35f801 ":      "provider-id-malformed",
		" aws:///eu-west-1a/i-0a4c19d2e7b35f801":      "provider-id-malformed",
		"aws:///eu-west-1a/fargate-ip-10-0-1-20 ":     "provider-id-malformed",
	} {
		o := &observed.Observation{Nodes: []observed.Node{{Name: "one", ProviderID: id, Labels: map[string]string{
			observed.ZoneLabel: "eu-west-1a", observed.RegionLabel: "eu-west-1", observed.InstanceTypeLabel: "m5.large",
		}}}}
		v := Evaluate(o, Choice{})
		assert.Equal(t, strings.Join(idsOf(v.Findings), " "), want, id, v.Findings)
		assert.Truef(t, v.Nodes[0].OK == (want == fine), "%q: the node is ok: %t", id, v.Nodes[0].OK)
	}
}

// RKE2 removes an etcd member with its Node, so no advice about such a Node is to delete it.
func TestTheNodeOfAnEtcdMemberIsNeverToBeDeleted(t *testing.T) {
	const one, other = "aws:///eu-west-1a/i-0a4c19d2e7b35f801", "rke2://cp-1"
	for _, ids := range [][]string{{other}, {"aws:///eu-west-1a/i-foo"}, {one, one}} {
		for _, member := range []bool{true, false} {
			o := &observed.Observation{Version: "v1.26.15+rke2r1"}
			for i, id := range ids {
				labels := map[string]string{observed.ZoneLabel: "eu-west-1a", observed.RegionLabel: "eu-west-1", observed.InstanceTypeLabel: "m5.large"}
				if member && i == 0 {
					labels[observed.EtcdLabel] = "true"
				}
				o.Nodes = append(o.Nodes, observed.Node{Name: string(rune('a' + i)), ProviderID: id, Labels: labels})
			}
			found := Evaluate(o, Choice{}).Findings
			assert.Mustf(t, len(found) == 1, "%v: %+v", ids, found)
			replaces := strings.Contains(found[0].Fix, replaceMember)
			assert.Truef(t, replaces == member, "%v, etcd %t: %s", ids, member, found[0].Fix)
		}
	}
}

// Without a manager that runs, nothing removes the taint for uninitialized nodes again.
func TestTheTaintIsOnlyAddedOnceAManagerRuns(t *testing.T) {
	for _, id := range []string{"", "aws:///eu-west-1a/i-0a4c19d2e7b35f801"} {
		o := &observed.Observation{Nodes: []observed.Node{{Name: "w1", ProviderID: id}}}
		const before, after = "first install the cloud-controller-manager", "kubectl --context=prod taint node w1"
		all := fixes(Evaluate(o, Choice{}))
		assert.Truef(t, strings.Contains(all, before) && !strings.Contains(all, "taint node"), "%q without a manager: %s", id, all)
		o.Managers = []observed.Manager{{Component: observed.CloudManager, Pod: "aws-cloud-controller-manager-x", Namespace: "kube-system", Running: true}}
		all = fixes(Evaluate(o, Choice{Cluster: action.Cluster{Context: "prod"}}))
		assert.Truef(t, strings.Contains(all, after) && !strings.Contains(all, before), "%q with a manager: %s", id, all)
	}
}

func fixes(v Verdict) string {
	var all strings.Builder
	for _, f := range v.Findings {
		all.WriteString(f.Fix + "\n")
	}
	return all.String()
}

// A dump of kubectl holds the kinds that were requested; what is absent from it says
// nothing.
func TestVolumesOfADumpWithoutDriversAreNoError(t *testing.T) {
	drivers := []observed.NodeDrivers{{Node: "one", Drivers: []string{"ebs.csi.aws.com"}}}
	for _, c := range []struct {
		name    string
		partial bool
		drivers []observed.NodeDrivers
		want    []string
	}{
		{"a cluster without drivers", false, nil, []string{"in-tree-volumes error"}},
		{"a cluster with them", false, drivers, nil},
		{"a dump that does not tell", true, nil, []string{"in-tree-volumes note"}},
		{"a dump with drivers", true, drivers, nil},
		{"a dump with other drivers", true, []observed.NodeDrivers{{Node: "one", Drivers: []string{}}}, []string{"in-tree-volumes error"}},
	} {
		o := scene(inTree, nil, kubeLease(true))
		o.StorageClasses, o.Partial, o.Drivers = []string{"gp2"}, c.partial, c.drivers
		o.Kinds = []string{observed.Nodes, observed.Leases, observed.Pods, observed.StorageClasses}
		if c.drivers != nil {
			o.Kinds = append(o.Kinds, observed.CSINodes)
		}
		assert.EqualSlices(t, rulesFound(o, ""), c.want, c.name)
	}
}
