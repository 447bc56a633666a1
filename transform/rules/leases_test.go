// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/stages"
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

// timed are the arguments of a manager with the timings lease duration/renew deadline/retry period; "" for none.
func timed(t string) []args.Arg {
	if t == "" {
		return nil
	}
	v := strings.Split(t, "/")
	return []args.Arg{
		args.With("leader-elect-lease-duration", v[0]+"s"), args.With("leader-elect-renew-deadline", v[1]+"s"), args.With("leader-elect-retry-period", v[2]+"s"),
	}
}

// A candidate of up to 1.26 waits for its own lease duration, a later one for that of the leader.
func TestTimingsAreUnsafeWhereACandidateAcquiresTheLeaseOfALivingLeader(t *testing.T) {
	all := []string{"15/10/2", "15/4/1", "6/4/1", "6/5/2", "4/3/1"}
	safe := map[string]map[string]string{ // leaders, by the release of the candidate and its timings
		"v1.26.15": {"15/10/2": "15/10/2 15/4/1 6/4/1 6/5/2 4/3/1", "15/4/1": "15/10/2 15/4/1 6/4/1 6/5/2 4/3/1", "6/4/1": "15/4/1 6/4/1 4/3/1", "6/5/2": "15/4/1 6/4/1 4/3/1", "4/3/1": ""},
		"v1.27.16": {"": "15/10/2 15/4/1 6/4/1"},
	}
	for version, by := range safe {
		for _, candidate := range all {
			want, own := by[candidate]
			if !own {
				want = by[""]
			}
			for _, leader := range all {
				o, unsafe := NewElector("c", version, timed(candidate), "lease").overtakes(NewElector("l", "v1.26.15", timed(leader), "lease"))
				assert.Truef(t, unsafe != strings.Contains(" "+want+" ", " "+leader+" "), "a leader with %s, a candidate of %s with %s: %q", leader, version, candidate, o.Message)
			}
		}
	}
}

func TestUnsafeTimingsNameBothManagersAndTheReleaseThatDecides(t *testing.T) {
	flag := args.With(leaderFlag, "true")
	overtaken := []string{
		"a kube-controller-manager of v1.26 leads for up to 12s after its last renewal (renew deadline 10s, retry period 2s), and a cloud-controller-manager of v1.26 acquires the lease after 6s, its own lease duration: for a time two managers run the cloud controllers",
	}
	for _, c := range []struct {
		name, kube, cloud, version string
		target                     transform.Target
		want                       []string
	}{
		{"the defaults", "", "", "v1.26.6", transform.Target{}, nil},
		{"short ones on the cloud-controller-manager alone", "", "6/4/1", "v1.26.6", transform.Target{}, overtaken},
		{"the same of an unknown release, which may wait for the leader's", "", "6/4/1", "", transform.Target{}, nil},
		{"the same of a release that waits for the leader's", "", "6/4/1", "v1.28.1", transform.Target{}, nil},
		{"a leader whose lease is shorter than its deadline and period", "", "6/5/2", "v1.28.1", transform.Target{}, []string{
			"a cloud-controller-manager of v1.28 leads for up to 7s after its last renewal (renew deadline 5s, retry period 2s), and a cloud-controller-manager of v1.28 acquires the lease after 6s, the lease duration of the leader: for a time two managers run the cloud controllers",
		}},
		{"a shorter deadline on kube-controller-manager", "15/4/1", "6/4/1", "v1.26.6", transform.Target{}, nil},
		{"no lease that both ask for", "", "6/4/1", "v1.26.6", transform.Target{NoLeaderMigration: true}, nil},
		{"a record has whole seconds", "14.9/12.9/1", "", "v1.28.1", transform.Target{}, []string{
			"a kube-controller-manager of v1.26 leads for up to 13.9s after its last renewal (renew deadline 12.9s, retry period 1s), and a cloud-controller-manager of v1.28 acquires the lease after 14s, the lease duration of the leader: for a time two managers run the cloud controllers",
		}},
		{"a manager that does not start", "10/10/2", "6/4/1", "v1.26.6", transform.Target{}, nil},
	} {
		found := timings(&managers{components: []Component{
			{Name: leadermigration.Manager, Args: append(timed(c.kube), flag), Version: "v1.26.15", Target: c.target, Place: unplaced},
			{Name: leadermigration.CloudManager, Args: append(timed(c.cloud), flag), Version: c.version, Target: c.target, Place: unplaced},
		}})
		messages := lists.Map(found, func(f transform.Finding) string { return f.Message })
		assert.Equal(t, strings.Join(messages, "\n"), strings.Join(c.want, "\n"), c.name, messages)
	}
}

// The switch makes kube-controller-manager external and takes its timings, while processes with both may still lead.
func TestTheSwitchIsCheckedForTheManagersOfBeforeIt(t *testing.T) {
	flag := args.With(leaderFlag, "true")
	cloud := Component{Name: leadermigration.CloudManager, Args: append(timed("6/4/1"), flag), Version: "v1.26.6", Place: unplaced}
	after := []Component{{Name: leadermigration.Manager, Version: "v1.26.15", Provider: external, Stage: stages.SwitchToExternal, Place: unplaced}, cloud}
	for before, want := range map[string]int{"": 1, "15/4/1": 0} {
		kube := Component{Name: leadermigration.Manager, Version: "v1.26.15", Args: append(timed(before), flag), Place: unplaced}
		found := timings(&managers{components: after, target: transform.Target{Before: &managers{components: []Component{kube, cloud}}}})
		assert.Equal(t, len(found), want, before, found)
	}
	slow := Component{Name: leadermigration.CloudManager, Version: "v1.26.6", Stage: stages.DisableLeaderMigration, Place: unplaced}
	found := timings(&managers{components: []Component{slow}, target: transform.Target{Before: &managers{components: []Component{cloud}}}})
	assert.Equal(t, len(found), 1, "the last stage takes the timings of a manager", found)
	found = timings(&managers{components: after})
	assert.Equal(t, len(found), 0, found)
}

func TestAnExternalManagerRunsNoCloudControllersUnderItsOwnLease(t *testing.T) {
	found := timings(&managers{components: []Component{{Name: leadermigration.Manager, Version: "v1.26.15", Provider: external, Args: timed("15/13/2")}}})
	assert.True(t, len(found) == 0, found)
}

// managers is a cluster of nothing else.
type managers struct {
	transform.Cluster
	target     transform.Target
	components []Component
	bundle     leadermigration.Bundle
}

func (m *managers) Chosen() transform.Target       { return m.target }
func (m *managers) Components(string) []Component  { return m.components }
func (m *managers) Charts(string) []Chart          { return nil }
func (m *managers) Bundle() leadermigration.Bundle { return m.bundle }

func timings(m *managers) transform.Findings {
	return of(func(f *transform.Findings) { LeaseTimingsUnsafe.Check(m, f) })
}
