// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// LeaderElectionOff checks how a manager asks for its leases: a migration can be
// followed only where each manager has its main lease under its own name, and timings
// that distinguish a living leader from a dead one.
var LeaderElectionOff = ofComponents(transform.Rule{ID: "leader-election-off", Severity: transform.Error, Guards: BothManagers,
	Doc: "A manager has leader-elect=false, which silently turns leader migration off, or a lease whose name or timings hide which manager runs the cloud controllers."}.Because(
	"Without leader election every manager runs all controllers. With another lease or other timings, which one runs them cannot be seen.", transform.SourceMigration, "Remove leader-elect=false, and the changed names and timings of leases.", "If you changed timings on purpose and read the leases yourself."),
	func(c Component, at transform.Report) {
		if c.Target.NoLeaderMigration {
			return // nothing depends on it
		}
		for _, a := range c.Args {
			if message := faultOf(a, c.Name); message != "" {
				at(a.Node(), message, "remove the argument")
			}
		}
		timings, node := timingsOf(c.Args)
		if message := faultOfTimings(timings); message != "" {
			at(node, message, defaultTimings)
		}
	})

const electFlag = "leader-elect"

// faultOf checks one argument by itself; "" if it is none.
func faultOf(a args.Arg, manager string) string {
	switch {
	case a.Name == electFlag && !a.True():
		return "without leader election there is no leader migration, whatever the value of its flag: both managers run the cloud controllers"
	case a.Name == "leader-elect-resource-name" && a.Value != manager, a.Name == "leader-elect-resource-namespace" && a.Value != leadermigration.Namespace:
		return "the main lease of " + manager + " is not " + leadermigration.Namespace + "/" + manager + ", so the holder of the migration lease is unknown"
	case a.Name == "leader-elect-resource-lock" && (a.Value == "endpoints" || a.Value == "configmaps"):
		return "the main lock of " + manager + " is no lease, so the holder of the migration lease is unknown"
	}
	return ""
}

// LeaseTimingsUnsafe finds managers of which one takes a lease while the other one may still lead.
var LeaseTimingsUnsafe = about(transform.Rule{ID: "lease-timings-unsafe", Severity: transform.Error, Guards: OfManagers,
	Doc: "A manager can acquire a lease while its leader, which does not reach the API server, still runs its controllers. Up to Kubernetes 1.26 a candidate waits for its own lease duration, later ones for that of the leader."}.Because(
	"Both managers create, change and delete the same load balancers until the old leader ends.", "kubernetes/client-go tools/leaderelection, v0.26 and v0.27",
	"Remove the timings of leases, or choose them so that renew deadline + retry period + 1s is at most the lease duration that counts.", ""), overtaken)

// The limits of a lease duration, and the jitter of client-go's retry period.
const (
	shortest    = 5 * time.Second // below, one missed renewal takes a living leader for a dead one
	longest     = time.Minute     // above, a dead leader counts as a living one for too long
	retryJitter = 1.2

	defaultTimings = "remove the timings of the lease; the defaults are 15s, 10s and 2s"
	// ChooseTimings is what to do about unsafe ones.
	ChooseTimings = "choose a shorter renew deadline for the leader, or a longer lease duration where the finding names it; or " + defaultTimings
)

// timingsOf returns the timings that arguments set, and the last one of these.
func timingsOf(list []args.Arg) (t leadermigration.Timings, at yamledit.Node) {
	t, last := leadermigration.TimingsOf(list)
	if last >= 0 {
		at = list[last].Node()
	}
	return t, at
}

// invalid reports why a manager does not start with timings, as client-go's elector checks them; "" if it does.
func invalid(t leadermigration.Timings) string {
	switch {
	case t.LeaseDuration <= t.RenewDeadline:
		return "the lease duration is not longer than the renew deadline, and the manager does not start"
	case float64(t.RenewDeadline) <= retryJitter*float64(t.RetryPeriod):
		return "the renew deadline is not longer than 1.2 times the retry period, and the manager does not start"
	}
	return ""
}

// faultOfTimings also reports timings that do not show who is alive.
func faultOfTimings(t leadermigration.Timings) string {
	if why := invalid(t); why != "" || t.LeaseDuration >= shortest && t.LeaseDuration <= longest {
		return why
	}
	return "with this lease duration a live leader looks dead, or a dead one looks alive for more than a minute"
}

// Elector is a manager that asks for leases, and runs the cloud controllers while it holds one.
type Elector struct {
	Name, Version string // the version is "" where it is not known
	Leases        []string
	leadermigration.Timings
	at yamledit.Node // the last argument that sets a timing
	of Component
}

// NewElector returns a manager that asks for some leases with the timings in its arguments.
func NewElector(name, version string, list []args.Arg, leases ...string) Elector {
	e := Elector{Name: name, Version: version, Leases: leases}
	e.Timings, e.at = timingsOf(list)
	return e
}

// title names the elector with its release, which decides for which lease duration it waits.
func (e Elector) title() string {
	if minor := semver.MajorMinor(e.Version); minor != "" {
		return e.Name + " of " + minor
	}
	return e.Name
}

// waits is how long a candidate waits after the last renewal of a leader, and for which lease duration: for the longer one
// where its release is not known. A record has whole seconds.
func (e Elector) waits(leader Elector) (time.Duration, string) {
	recorded := leader.LeaseDuration.Truncate(time.Second)
	if stages.WaitsForRecord(e.Version) || e.Version == "" && recorded > e.LeaseDuration {
		return recorded, "the lease duration of the leader"
	}
	return e.LeaseDuration, "its own lease duration"
}

// Overtaking is a candidate that may acquire a lease before its leader ends.
type Overtaking struct {
	Lease, Message string
	At             yamledit.Node
	of             Component
}

// overtakes compares a candidate with a leader.
func (e Elector) overtakes(leader Elector) (o Overtaking, unsafe bool) {
	shared := slices.IndexFunc(e.Leases, func(lease string) bool { return slices.Contains(leader.Leases, lease) })
	waits, whose := e.waits(leader)
	if shared < 0 || invalid(e.Timings) != "" || invalid(leader.Timings) != "" || !leader.Outlasts(waits) {
		return o, false
	}
	o = Overtaking{e.Leases[shared], fmt.Sprintf("a %s leads for up to %s after its last renewal (renew deadline %s, retry period %s), and a %s acquires the lease after %s, %s: for a time two managers run the cloud controllers",
		leader.title(), leader.Leads(), leader.RenewDeadline, leader.RetryPeriod, e.title(), waits, whose), e.at, e.of}
	if !o.At.Exists() || leader.at.Exists() && waits != e.LeaseDuration {
		o.At, o.of = leader.at, leader.of
	}
	return o, true
}

// Overtakings lists each pair of managers whose timings are unsafe. Every manager may lead, and any other one may be the
// next; so may another replica of the same, or its own process after a restart.
func Overtakings(all []Elector) (found []Overtaking) {
	for _, leader := range all {
		for _, candidate := range all {
			o, unsafe := candidate.overtakes(leader)
			if unsafe && !slices.ContainsFunc(found, func(f Overtaking) bool { return f.Message == o.Message && f.At == o.At }) {
				found = append(found, o)
			}
		}
	}
	return found
}

// electors returns the managers that components are, but for those without leader election. An external
// kube-controller-manager runs no cloud controllers.
func electors(components []Component) (all []Elector) {
	for _, c := range components {
		if args.Has(c.Args, electFlag) && !args.Enables(c.Args, electFlag) {
			continue
		}
		leases := append(lists.If(c.Provider != external || c.Name == leadermigration.CloudManager, c.Name),
			lists.If(args.Enables(c.Args, leaderFlag) && !c.Target.NoLeaderMigration, c.Target.Lease())...)
		e := NewElector(c.Name, c.Version, c.Args, leases...)
		e.of = c
		all = append(all, e)
	}
	return all
}

// overtaken checks the managers, and those of before: they still run while the last stages roll out. The first ones may begin
// with timings that are unsafe, as they can be what makes them safe, and with a cloud-controller-manager that does not run yet.
func overtaken(s Subject, rule string, found *transform.Findings) {
	all := electors(s.Components(rule))
	before, is := s.Chosen().Before.(Subject)
	if is && slices.ContainsFunc(all, rollsOut) {
		for _, e := range electors(before.Components(rule)) {
			if i := slices.IndexFunc(all, func(now Elector) bool { return now.Name == e.Name }); i >= 0 {
				e.at, e.of = all[i].at, all[i].of // what is found is about the document of now
				all = append(all, e)
			}
		}
	}
	for _, o := range Overtakings(all) {
		found.Add(o.of.finding(o.At, o.Message, ChooseTimings))
	}
}

// rollsOut reports whether a manager is that of a stage during which those of before it still run.
func rollsOut(e Elector) bool {
	return e.of.Stage == stages.SwitchToExternal || e.of.Stage == stages.DisableLeaderMigration
}
