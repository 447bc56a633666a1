// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func unplaced(_ yamledit.Node, message, fix string) transform.Finding {
	return transform.Finding{Message: message, Fix: fix}
}

// checked returns what a rule finds in a component, without places.
func checked(r Rule, c Component) (found transform.Findings) {
	c.Place = unplaced
	r.Check(&managers{components: []Component{c}}, &found)
	return found
}

func TestLeaderElectionIsCheckedAsTheElectorTakesIt(t *testing.T) {
	for _, c := range []struct{ name, args, want string }{
		{"nothing is set", "v=2", ""},
		{"off", "leader-elect=false", "without leader election"},
		{"on", "leader-elect=true", ""},
		{"another lease", "leader-elect-resource-name=own", "is not kube-system/manager"},
		{"its own lease", "leader-elect-resource-name=manager leader-elect-resource-namespace=kube-system", ""},
		{"another namespace", "leader-elect-resource-namespace=default", "is not kube-system/manager"},
		{"no lease", "leader-elect-resource-lock=configmaps", "is no lease"},
		{"a lease and more", "leader-elect-resource-lock=endpointsleases", ""},
		{"it ends before its renewal", "leader-elect-lease-duration=10s", "the lease duration is not longer than the renew deadline, and the manager does not start"},
		{"the renewal is too short", "leader-elect-renew-deadline=2s", "the renew deadline is not longer than 1.2 times the retry period, and the manager does not start"},
		{"too short", "leader-elect-lease-duration=4s leader-elect-renew-deadline=3s leader-elect-retry-period=1s", "looks dead"},
		{"too long", "leader-elect-lease-duration=2m", "looks dead"},
		{"longer than usual", "leader-elect-lease-duration=60s leader-elect-renew-deadline=40s leader-elect-retry-period=8s", ""},
		{"no duration", "leader-elect-lease-duration=soon", ""},
	} {
		list := lists.Map(strings.Fields(c.args), args.Parse)
		printed := ""
		for _, f := range checked(LeaderElectionOff, Component{Name: "manager", Args: list}) {
			printed += f.Message
			assert.Truef(t, f.Fix != "", "%s: nothing to do", c.name)
		}
		assert.Truef(t, (c.want != "" || printed == "") && strings.Contains(printed, c.want), "%s: %q", c.name, printed)
	}
}
