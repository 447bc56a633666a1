// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rancher/wrangler/v3/pkg/summary"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

// readings are what the reading of rke-lm and the summary that Rancher shows make of one object.
type readings struct{ ours, rancher string }

// The objects were recorded while Rancher itself took a cluster through a migration: one of every set of conditions. Of
// control planes both readings are the same; rke-lm keeps its own, which names the condition, works for RKE as well and
// needs no further module. Of machines they are not, and why is here.
func TestWhatRkeLmReadsOfRanchersObjectsAndWhatRanchersSummaryShows(t *testing.T) {
	text := assert.Value(os.ReadFile("testdata/conditions.jsonl"))(t)
	got := map[string]map[readings]int{}
	for line := range strings.Lines(string(text)) {
		o := &unstructured.Unstructured{}
		assert.NilError(t, json.Unmarshal([]byte(line), &o.Object))
		ours := assert.Value(read(o.GetKind(), []byte(line)))(t)
		kind := o.GetKind() + " " + o.GroupVersionKind().Version
		if got[kind] == nil {
			got[kind] = map[readings]int{}
		}
		got[kind][readings{ours, shown(o)}]++
	}
	for kind, want := range map[string][]readings{
		"RKEControlPlane v1": {{"waits", "waits"}, {"settled", "ready"}},
		// rke-lm asks only whether Cluster API found the Node: the rest is in the plan, and there first. The
		// summary is not ready while the planner works, and an error when a plan failed. Of v1beta1, which is
		// what rke-lm reads and all Ranchers have, it does not take in that no Node was found yet.
		"Machine v1beta1": {{"unlinked", "waits"}, {"unlinked", "ready"}, {"linked", "waits"}, {"linked", "error"}, {"linked", "ready"}},
		"Machine v1beta2": {{"unlinked", "waits"}, {"linked", "waits"}, {"linked", "error"}, {"linked", "ready"}},
	} {
		for _, pair := range want {
			if got[kind][pair] == 0 {
				t.Errorf("no %s is %s to rke-lm and %s to Rancher", kind, pair.ours, pair.rancher)
			}
			delete(got[kind], pair)
		}
		for pair, n := range got[kind] {
			t.Errorf("%d %s are %s to rke-lm and %s to Rancher", n, kind, pair.ours, pair.rancher)
		}
	}
}

// read is rke-lm's reading, where nothing but the conditions keeps a change from being done.
func read(kind string, raw []byte) (string, error) {
	if kind == "Machine" {
		m, err := rollout.ReadMachine(raw)
		if m.Unlinked {
			return "unlinked", err
		}
		return "linked", err
	}
	c, err := rollout.ReadControlPlane(raw)
	if err != nil {
		return "", err
	}
	c.Observed, c.Applied = c.Generation, c.Spec
	p := rollout.Evaluate(rollout.Objects{ControlPlane: c}, rollout.Wanted{Object: map[string]any{"spec": map[string]any{"rkeConfig": map[string]any{}}}})
	if strings.HasPrefix(p.Waiting, "the condition ") {
		return "waits", nil
	}
	return "settled", nil
}

// shown is the summary that Rancher's own API and its planner show of an object.
func shown(o *unstructured.Unstructured) string {
	switch s := summary.SummarizeWithOptions(o, &summary.SummarizeOptions{HasObservedGeneration: o.GetKind() == "Machine"}); {
	case s.Error:
		return "error"
	case s.Transitioning:
		return "waits"
	}
	return "ready"
}
