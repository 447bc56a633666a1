// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// Wave is machines that Rancher changes before it continues to the next wave, by name.
type Wave struct {
	Machines []Machine
	AtOnce   int // so many of them at a time
}

// Order returns the waves in which Rancher changes machines (rancher
// pkg/capr/planner/planner.go, fullReconcile, at v2.7.9 and v2.8.10): the init node, the
// other etcd machines one by one, the control planes, and the workers, the last two with
// the concurrency of the upgrade strategy. A machine that does not change takes no
// part. There is no order where no machine is known to be the init node.
func Order(seen Objects, roles func(labels map[string]string) transform.Roles, changes func(labels map[string]string) bool) []Wave {
	init := slices.IndexFunc(seen.Machines, func(m Machine) bool { return m.Plan != nil && m.Plan.Init && !m.Deleting })
	if seen.ControlPlane == nil || init < 0 {
		return nil
	}
	var tiers [4][]Machine
	for i, m := range seen.Machines {
		switch {
		case m.Deleting:
		case i == init:
			tiers[0] = append(tiers[0], m)
		case roles(m.Labels).Etcd:
			tiers[1] = append(tiers[1], m)
		case roles(m.Labels).ControlPlane:
			tiers[2] = append(tiers[2], m)
		default:
			tiers[3] = append(tiers[3], m)
		}
	}
	controlPlanes := len(lists.Where(tiers[1], func(m Machine) bool { return roles(m.Labels).ControlPlane }))
	strategy, _ := seen.ControlPlane.Spec["upgradeStrategy"].(map[string]any)
	var waves []Wave
	for i, tier := range tiers {
		w := Wave{lists.Where(tier, func(m Machine) bool { return changes(m.Labels) }), 1}
		switch i {
		case 2: // Rancher takes a part of all control planes, with those that have their plan already
			w.AtOnce = atOnce(strategy["controlPlaneConcurrency"], len(w.Machines), len(tier)+controlPlanes)
		case 3:
			w.AtOnce = atOnce(strategy["workerConcurrency"], len(w.Machines), len(tier))
		}
		if len(w.Machines) > 0 {
			waves = append(waves, w)
		}
	}
	return waves
}

// atOnce reads a concurrency: a number, 0 for all, or a part of all in percent
// (calculateConcurrency). Without one it is 1.
func atOnce(concurrency any, changing, all int) int {
	n, ok := rules.Concurrency(concurrency, all, math.Ceil)
	if !ok {
		n = 1
	}
	if n <= 0 {
		return changing
	}
	return min(n, changing)
}

// OrderText is the order of waves in a sentence; "" for none.
func OrderText(waves []Wave) string {
	parts := lists.Map(waves, Wave.text)
	if len(parts) == 0 {
		return ""
	}
	return "Rancher updates the machines in this order: " + strings.Join(parts, "; then ") + "."
}

// most is how many machines of a wave are named.
const most = 9

func (w Wave) text() string {
	text := lists.Few(lists.Map(w.Machines, Machine.title), most)
	switch {
	case len(w.Machines) == 1:
		return text
	case w.AtOnce == 1:
		return text + ", one at a time"
	}
	return fmt.Sprintf("%s, %d at a time", text, w.AtOnce)
}

// title names a machine with its Node, by which leases and pods name it.
func (m Machine) title() string {
	if m.Node == "" || m.Node == m.Name {
		return m.Name
	}
	return m.Name + " (" + m.Node + ")"
}
