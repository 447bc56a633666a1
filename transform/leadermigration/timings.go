// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package leadermigration

import (
	"slices"
	"strings"
	"time"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// The arguments of the timings of client-go's elector.
const (
	leaseFlag = "leader-elect-lease-duration"
	renewFlag = "leader-elect-renew-deadline"
	retryFlag = "leader-elect-retry-period"
)

// TimingFlags returns them.
func TimingFlags() []string { return []string{leaseFlag, renewFlag, retryFlag} }

// Timings are those of an elector: how long a candidate waits for a leader, how long a leader tries to renew its lease,
// and the pause between two tries.
type Timings struct{ LeaseDuration, RenewDeadline, RetryPeriod time.Duration }

// DefaultTimings are those of managers without arguments (k8s.io/component-base config/v1alpha1).
var DefaultTimings = Timings{15 * time.Second, 10 * time.Second, 2 * time.Second}

// ShortTimings are those of a cloud-controller-manager with short leases. A lease duration of 6 s would not do: an elector's
// requests have half the renew deadline for their answers (client-go, resourcelock.NewFromKubeconfig). A leader whose
// write arrived, was answered after almost 2 s, and is not followed by another one leads for up to 7 s after the write.
var ShortTimings = Timings{8 * time.Second, 4 * time.Second, time.Second}

// Margin is for requests that arrive late.
const Margin = time.Second

// KubeTimings returns the arguments with which a kube-controller-manager ends before a cloud-controller-manager with short
// leases acquires the migration lease. Its lease duration stays: up to 1.26 a candidate waits for its own.
func KubeTimings() []args.Arg {
	return []args.Arg{args.With(renewFlag, "4s"), args.With(retryFlag, "1s")}
}

// CloudTimings returns the arguments of a cloud-controller-manager with short leases.
func CloudTimings() []args.Arg {
	return append([]args.Arg{args.With(leaseFlag, "8s")}, KubeTimings()...)
}

// TimingsOf returns the timings that arguments set, or the default ones, and the index of the last argument that sets one; -1 for none.
func TimingsOf(list []args.Arg) (t Timings, last int) {
	t, last = DefaultTimings, -1
	of := map[string]*time.Duration{leaseFlag: &t.LeaseDuration, renewFlag: &t.RenewDeadline, retryFlag: &t.RetryPeriod}
	for i, a := range list {
		at := of[flagName(a)]
		if d, err := time.ParseDuration(a.Value); err == nil && at != nil {
			*at, last = d, i
		}
	}
	return t, last
}

// LacksTimings reports whether arguments set no timing: one that does is the user's choice, and stays with the others.
func LacksTimings(list []args.Arg) bool { return len(timingsIn(list)) == 0 }

// Missing returns the timings that arguments lack where a manager gets any.
func Missing(gets bool, list, timings []args.Arg) []args.Arg {
	return lists.If(gets && LacksTimings(list), timings...)
}

// HasTimings reports whether arguments set exactly the given timings, and no other one.
func HasTimings(list, timings []args.Arg) bool {
	same := func(a, b args.Arg) bool { return a.Name == b.Name && a.Value == b.Value }
	found := timingsIn(list)
	return len(found) == len(timings) && !slices.ContainsFunc(timings, func(t args.Arg) bool {
		return !slices.ContainsFunc(found, func(a args.Arg) bool { return same(a, t) })
	})
}

// LeavingTimings are the flags of short leases that leave a kube-controller-manager with the flag of its migration: other
// timings are the user's, and so are these without the flag.
func LeavingTimings(list []args.Arg) []string {
	return lists.If(args.Has(list, Flag) && HasTimings(list, KubeTimings()), args.Names(KubeTimings())...)
}

func timingsIn(list []args.Arg) []args.Arg {
	return lists.Where(list, func(a args.Arg) bool { return slices.Contains(TimingFlags(), flagName(a)) })
}

// Leads is for how long a leader may run after its last renewal: it waits for the retry period, and only then the renew
// deadline begins (k8s.io/client-go tools/leaderelection, renew at v0.26.15).
func (t Timings) Leads() time.Duration { return t.RenewDeadline + t.RetryPeriod }

// Outlasts reports whether a leader with these timings may run for longer than a candidate waits, which acquires the lease then.
func (t Timings) Outlasts(waits time.Duration) bool { return t.Leads()+Margin > waits }

// flagName is the name of a flag as managers read it (k8s.io/component-base cli/flag, WordSepNormalizeFunc).
func flagName(a args.Arg) string { return strings.ReplaceAll(a.Name, "_", "-") }
