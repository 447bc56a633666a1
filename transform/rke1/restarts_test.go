// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"strings"
	"testing"
)

func TestControlPlanesThatRKETakesAtOnce(t *testing.T) {
	three := strings.Repeat(strings.TrimPrefix(nodes, "nodes:\n"), 3)
	strategy := func(unavailable, list string) string {
		return "upgrade_strategy:\n  max_unavailable_controlplane: " + unavailable + "\n" + onAWS + list
	}
	at := []string{"warning 3"}
	checkRule(t, "control-planes-at-once", []ruleCase{
		{name: "nothing is set", config: onAWS + "nodes:\n" + three},
		{name: "one", config: strategy(`"1"`, "nodes:\n"+three)},
		{name: "two, with etcd as well", config: strategy(`"2"`, "nodes:\n"+three), want: at},
		{name: "two as a number", config: strategy(`2`, "nodes:\n"+three), want: at},
		{name: "two of one", config: strategy(`"2"`, nodes)},
		{name: "half of three, rounded down", config: strategy(`50%`, "nodes:\n"+three)},
		{name: "two thirds", config: strategy(`67%`, "nodes:\n"+three), want: at},
		{name: "workers do not count", config: strategy(`"2"`, nodes+"- {address: 203.0.113.9, internal_address: 10.0.0.9, role: [worker]}\n")},
		{name: "two where no machine is named", config: strategy(`"2"`, ""), want: at},
		{name: "a tenth where no machine is named", config: strategy(`10%`, "")},
	})
}
