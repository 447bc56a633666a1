// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// evaluate reports how far a machine has come.
func (m Machine) evaluate(wanted Wanted) MachineProgress {
	p := m.tries()
	p.Waiting = m.waiting(wanted)
	p.Done = p.Waiting == ""
	return p
}

// tries reports how the tries of its plan went.
func (m Machine) tries() MachineProgress {
	p := MachineProgress{Name: m.Name, Node: m.Node}
	if m.Plan != nil && !m.Plan.Applied {
		p.Failures, p.Output = m.Plan.Failures, m.Plan.Output
	}
	return p
}

// Tries says of every machine how the tries of its plan went, whatever is in the plan.
func (s Objects) Tries() []MachineProgress {
	return lists.Map(s.Machines, Machine.tries)
}

// waiting returns what the machine lacks, or "".
func (m Machine) waiting(wanted Wanted) string {
	if m.Plan == nil {
		return "Rancher has not given it a plan yet"
	}
	if missing := lacks(m.Plan.Config, wanted.Machine(m.Labels)); missing != "" {
		return "its plan does not have the change yet: " + missing
	}
	switch {
	case !m.Plan.Applied && m.Plan.Failures > 0:
		return counted(m.Plan.Failures) + " of its plan failed, and its rancher-system-agent retries; " + journal
	case !m.Plan.Applied:
		return "it has not applied its plan yet"
	case len(m.Plan.Unhealthy) > 0:
		return "these probes fail: " + strings.Join(m.Plan.Unhealthy, ", ")
	case m.Node == "" && !wanted.WithoutIDs:
		return "it has no Node yet"
	}
	return ""
}

// failed returns what does not pass by itself, or "".
func (m Machine) failed(wanted Wanted) string {
	before := wanted.Nodes[m.Name]
	switch {
	case before != "" && m.Node != "" && m.Node != before:
		return fmt.Sprintf("machine %s was the node %s and is now the node %s", m.Name, before, m.Node)
	case m.Plan != nil && m.Plan.GivenUp && !m.Plan.Applied && lacks(m.Plan.Config, wanted.Machine(m.Labels)) == "": // one without the change is replaced
		return fmt.Sprintf("machine %s stopped applying its plan after %s, and does not retry until Rancher changes the plan; %s", m.Name, counted(m.Plan.Failures), journal) + printed(m.Plan.Output)
	}
	return ""
}

// journal says where an agent says why a try failed: Rancher has it save no output of
// the instruction that installs RKE2.
const journal = "journalctl -u rancher-system-agent on the machine shows the cause"

func counted(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}
