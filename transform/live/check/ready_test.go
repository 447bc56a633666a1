// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

func condition(status string) *observed.Condition {
	return &observed.Condition{Status: status, Reason: "KubeletNotReady", Since: time.Date(2025, 3, 11, 9, 58, 7, 0, time.UTC)}
}

// unready checks nodes by the one rule.
func unready(before *observed.Snapshot, nodes ...observed.Node) []transform.Finding {
	return ofRule(nodeNotReady, &observed.Observation{Nodes: nodes, Before: before, Partial: true, Kinds: []string{observed.Nodes}}, Choice{})
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
