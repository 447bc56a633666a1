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
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// LeaseTimingsUnsafe finds managers of which one takes a lease while the other one may still lead.
var LeaseTimingsUnsafe = transform.Rule{
	ID: "lease-timings-unsafe", Severity: transform.Error, Guards: OfManagers,
	Doc: "A manager can acquire a lease while its leader, which does not reach the API server, still runs its controllers. Up to Kubernetes 1.26 a candidate waits for its own lease duration, later ones for that of the leader.",
}.Because("Both managers create, change and delete the same load balancers until the old leader ends.", "kubernetes/client-go tools/leaderelection, v0.26 and v0.27",
	"Remove the timings of leases, or choose them so that renew deadline + retry period + 1s is at most the lease duration that counts.", "")

// The arguments of the timings of client-go's elector, and their limits.
const (
	leaseFlag   = "leader-elect-lease-duration"
	renewFlag   = "leader-elect-renew-deadline"
	retryFlag   = "leader-elect-retry-period"
	shortest    = 5 * time.Second // below, one missed renewal takes a living leader for a dead one
	longest     = time.Minute     // above, a dead leader counts as a living one for too long
	retryJitter = 1.2
	margin      = time.Second // for requests that arrive late

	// firstRecord is the first release whose candidates wait for the lease duration in the leader's record, and no longer
	// for their own (k8s.io/client-go tools/leaderelection, tryAcquireOrRenew at v0.27.0).
	firstRecord = "v1.27"

	defaultTimings = "remove the timings of the lease; the defaults are 15s, 10s and 2s"
	// ChooseTimings is what to do about unsafe ones.
	ChooseTimings = "choose a shorter renew deadline for the leader, or a longer lease duration where the finding names it; or " + defaultTimings
)

// timings are those of an elector.
type timings struct{ lease, renew, retry time.Duration }

// timingsOf returns the timings that arguments set, and the last one of these.
func timingsOf(list []args.Placed) (timings, yamledit.Node) {
	t := timings{15 * time.Second, 10 * time.Second, 2 * time.Second}
	of := map[string]*time.Duration{leaseFlag: &t.lease, renewFlag: &t.renew, retryFlag: &t.retry}
	var last yamledit.Node
	for _, a := range list {
		if d, err := time.ParseDuration(a.Value); err == nil && of[a.Name] != nil {
			*of[a.Name], last = d, a.Node
		}
	}
	return t, last
}

// invalid reports why a manager does not start with the timings, as client-go's elector checks them; "" if it does.
func (t timings) invalid() string {
	switch {
	case t.lease <= t.renew:
		return "the lease duration is not longer than the renew deadline, and the manager does not start"
	case float64(t.renew) <= retryJitter*float64(t.retry):
		return "the renew deadline is not longer than 1.2 times the retry period, and the manager does not start"
	}
	return ""
}

// fault also reports timings that do not show who is alive.
func (t timings) fault() string {
	if why := t.invalid(); why != "" || t.lease >= shortest && t.lease <= longest {
		return why
	}
	return "with this lease duration a live leader looks dead, or a dead one looks alive for more than a minute"
}

// leads is for how long a leader may run after its last renewal: it waits for the retry period, and only then the renew
// deadline begins (k8s.io/client-go tools/leaderelection, renew at v0.26.15).
func (t timings) leads() time.Duration { return t.renew + t.retry }

// Elector is a manager that asks for leases, and runs the cloud controllers while it holds one.
type Elector struct {
	Name, Version string // the version is "" where it is not known
	Leases        []string
	timings
	at yamledit.Node // the last argument that sets a timing
}

// NewElector returns a manager that asks for some leases with the timings in its arguments.
func NewElector(name, version string, list []args.Placed, leases ...string) Elector {
	e := Elector{Name: name, Version: version, Leases: leases}
	e.timings, e.at = timingsOf(list)
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
	recorded := leader.lease.Truncate(time.Second)
	if k8s.From(e.Version, firstRecord) || e.Version == "" && recorded > e.lease {
		return recorded, "the lease duration of the leader"
	}
	return e.lease, "its own lease duration"
}

// Overtaking is a candidate that may acquire a lease before its leader ends.
type Overtaking struct {
	Lease, Message string
	At             yamledit.Node
}

// overtakes compares a candidate with a leader.
func (e Elector) overtakes(leader Elector) (o Overtaking, unsafe bool) {
	shared := slices.IndexFunc(e.Leases, func(lease string) bool { return slices.Contains(leader.Leases, lease) })
	waits, whose := e.waits(leader)
	if shared < 0 || e.invalid() != "" || leader.invalid() != "" || leader.leads()+margin <= waits {
		return o, false
	}
	o = Overtaking{e.Leases[shared], fmt.Sprintf("a %s leads for up to %s after its last renewal (renew deadline %s, retry period %s), and a %s acquires the lease after %s, %s: for a time two managers run the cloud controllers",
		leader.title(), leader.leads(), leader.renew, leader.retry, e.title(), waits, whose), e.at}
	if !o.At.Exists() || leader.at.Exists() && waits != e.lease {
		o.At = leader.at
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

// elector returns the manager that a component is. An external kube-controller-manager runs no cloud controllers. The switch
// takes the flag away, and while it rolls out the processes of before still have it.
func elector(c Component) Elector {
	var leases []string
	if c.Provider != external || c.Name == leadermigration.CloudManager {
		leases = append(leases, c.Name)
	}
	flag, set := args.LastPlaced(c.Args, leaderFlag)
	switching := c.Name == leadermigration.Manager && c.Stage == stages.SwitchToExternal
	if (set && flag.True() || switching) && !c.Target.NoLeaderMigration {
		leases = append(leases, c.Target.Lease())
	}
	return NewElector(c.Name, c.Version, c.Args, leases...)
}

// LeaseTimings is the check of [LeaseTimingsUnsafe] for the managers that a distro lists for it.
func LeaseTimings[C any](list func(c C, rule string) []Component) func(C, *transform.Findings) {
	return func(c C, found *transform.Findings) {
		var all []Elector
		of := map[yamledit.Node]Component{}
		for _, one := range list(c, LeaseTimingsUnsafe.ID) {
			if elects, set := args.LastPlaced(one.Args, electFlag); set && !elects.True() {
				continue
			}
			e := elector(one)
			all, of[e.at] = append(all, e), one
		}
		for _, o := range Overtakings(all) {
			found.Add(of[o.At].finding(o.At, o.Message, ChooseTimings))
		}
	}
}
