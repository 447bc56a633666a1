// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// A play is what a cluster shows second by second. Leases last 15 seconds, and
// who is alive renews every second.
type play struct {
	records  map[string]observed.Lease
	managers []observed.Manager
	renews   map[string]bool
	versions Versions
	now      time.Time
	timeline Timeline
	got      []Interval
}

func newPlay(managers ...observed.Manager) *play {
	return &play{records: map[string]observed.Lease{}, renews: map[string]bool{}, managers: managers, now: time.Date(2025, 3, 11, 10, 0, 0, 0, time.UTC)}
}

// hold gives leases to someone alive.
func (p *play) hold(holder string, leases ...string) *play {
	for _, name := range leases {
		r := p.records[name]
		r.Name, r.Holder, r.DurationSeconds, r.Transitions = name, holder, 15, r.Transitions+1
		p.records[name], p.renews[name] = r, true
	}
	return p
}

// die lets no one renew leases any more.
func (p *play) die(leases ...string) *play {
	for _, name := range leases {
		p.renews[name] = false
	}
	return p
}

func (p *play) run(managers ...observed.Manager) *play { p.managers = managers; return p }

// look looks once a second.
func (p *play) observe(seconds int) *play {
	for range seconds {
		var list []observed.Lease
		for name, r := range p.records {
			if p.renews[name] {
				r.Renewed = p.now.Add(-3 * time.Hour) // another machine's clock
				p.records[name] = r
			}
			list = append(list, r)
		}
		p.got = append(p.got, p.timeline.Add(Sample{At: p.now, Leases: list, Managers: p.managers, Given: p.versions})...)
		p.now = p.now.Add(time.Second)
	}
	return p
}

// blind lets time pass in which the cluster lives on and no one looks.
func (p *play) blind(seconds int) *play {
	p.now = p.now.Add(time.Duration(seconds) * time.Second)
	return p
}

// summary is the timeline in short: seconds and owners.
func (p *play) summary() string {
	p.got = append(p.got, p.timeline.End(p.now)...)
	var text []string
	for i, in := range p.got {
		who := strings.NewReplacer(observed.KubeManager, "kube", observed.CloudManager, "cloud").Replace(strings.Join(in.Owners, "+"))
		switch {
		case in.Unknown != "":
			who = "unknown"
		case in.Count != len(in.Owners):
			who = fmt.Sprintf("%d(%s)", in.Count, who)
		case who == "":
			who = "none"
		}
		text = append(text, fmt.Sprintf("%.0f %s", in.To.Sub(in.From).Seconds(), who))
		if i > 0 && !p.got[i-1].To.Equal(in.From) {
			text = append(text, "(a hole)")
		}
	}
	return strings.Join(text, ", ")
}

func kube(args ...string) observed.Manager {
	return observed.Manager{Component: observed.KubeManager, Pod: "kcm", Hosts: []string{"one"}, Args: args, Running: true}
}

// on is a pod on another host.
func on(host string, m observed.Manager) observed.Manager {
	m.Hosts = []string{host}
	return m
}

// renamed is another pod with the same arguments, on a host of another name.
func renamed(pod string, m observed.Manager) observed.Manager {
	m.Pod = pod
	return on("node-of-"+pod, m)
}

func cloud(tag string, args ...string) observed.Manager {
	return observed.Manager{Component: observed.CloudManager, Pod: "ccm", Hosts: []string{"one"}, Args: args, Image: "example.org/cloud-controller-manager:" + tag, Running: true}
}

const (
	km, cm, mig = observed.KubeManager, observed.CloudManager, leadermigration.Lease

	flag, providerAWS, providerExternal, noRoutes = "--enable-leader-migration=true", "--cloud-provider=aws", "--cloud-provider=external", "--configure-cloud-routes=false"
)

func TestTimelinesSayWhoOwnedTheControllers(t *testing.T) {
	before, waiting := kube(providerAWS, flag), cloud("v1.26.6", flag, noRoutes)
	elsewhere, after := on("two", before), kube(providerExternal)
	first, second, third := renamed("first", kube(providerAWS)), renamed("second", kube(providerAWS)), renamed("third", kube(providerAWS))
	for _, c := range []struct {
		name string
		play *play
		want string
	}{
		{"an in-tree manager that leads", newPlay(kube(providerAWS)).hold("one_a", km).observe(20), "20 kube"},
		{"one that holds the migration lease", newPlay(before).hold("one_a", km, mig).observe(20), "20 kube"},
		{"pods that came after the identity of a leader elsewhere", newPlay().hold("other_1", km).observe(3).run(renamed("g", after)).observe(3).run(renamed("g", after), renamed("h", kube(providerAWS))).observe(6), "3 unknown, 3 none, 6 unknown"},
		{"a leader whose mirror is missing while another server restarts", newPlay(first, second, third).hold("node-of-first_1", km).observe(5).run(second, renamed("third", after)).observe(5).run(first, second, renamed("third", after)).observe(5), "15 kube"},
		{"one that may not lock it: it leads, and runs them nowhere", newPlay(before).hold("one_a", km).observe(20), "20 none"},
		{"one that only waits next to it changes nothing", newPlay(before, waiting).hold("one_a", km, mig).hold("one_b", cm).observe(20), "20 kube"},
		{"a handover: the dead leave their name in the lease", newPlay(before, waiting).hold("one_a", km, mig).hold("one_b", cm).observe(10).die(km, mig).observe(17).hold("one_b", mig).run(after, waiting).hold("one_c", km).observe(10), "24 kube, 3 none, 10 cloud"},
		{"a process that is replaced owns nothing, although its lease still runs", newPlay(before, waiting).hold("one_a", km, mig).hold("one_b", cm).observe(10).die(km, mig).run(after, waiting).observe(17).hold("one_b", mig).observe(10), "10 kube, 17 none, 10 cloud"},
		{"a lease that was dead from the start", newPlay(before).hold("one_a", km).observe(0).hold("one_z", mig).die(mig).observe(20), "20 none"},
		{"a holder that dies right before the first look stays unknown, then no one owns them", newPlay(before).hold("one_a", km, mig).die(km, mig).observe(20), "15 unknown, 5 none"},
		{"a leader that dies right before the first look does too", newPlay(kube(providerAWS)).hold("one_a", km).die(km).observe(20), "15 unknown, 5 none"},
		{"a holder that gives way at once may have been dead", newPlay(before, waiting).hold("one_a", km).hold("one_b", cm, mig).die(mig).observe(1).hold("one_a", mig).observe(10), "1 unknown, 10 kube"},
		{"two that never heard of each other", newPlay(kube(providerAWS), cloud("v1.26.6", noRoutes)).hold("one_a", km).hold("one_b", cm).observe(20), "20 cloud+kube"},
		{"a manager of 1.28 whose defaults list other names", newPlay(before, cloud("v1.28.1", flag, noRoutes)).hold("one_a", km, mig).hold("one_b", cm).observe(20), "20 cloud+kube"},
		{"an external manager that keeps the flag and the lease", newPlay(kube(providerExternal, flag), waiting).hold("one_a", km, mig).hold("one_b", cm).observe(20), "20 none"},
		{"a manager without a pod that leads", newPlay(waiting).hold("one_a", km, mig).hold("one_b", cm).observe(20), "20 unknown"},
		{"no election: whoever runs owns them", newPlay(kube(providerAWS, "--leader-elect=false")).observe(20), "20 kube"},
		{"but not who does not run", newPlay(func() observed.Manager { m := kube(providerAWS, "--leader-elect=false"); m.Running = false; return m }()).observe(20), "20 none"},
		{"two pods with other arguments, distinguished by their host", newPlay(before, on("two", after)).hold("one_a", km, mig).observe(20), "20 kube"},
		{"machines that follow one by one: who came later does not lead yet", newPlay(before, renamed("k2", before), waiting).hold("x_a", km, mig).hold("x_b", cm).observe(5).run(before, renamed("k2", after), waiting).observe(5).die(km, mig).run(renamed("k1", after), renamed("k2", after), waiting).observe(17).hold("x_b", mig).observe(5), "10 kube, 17 none, 5 cloud"},
		{"once the other manager holds the lease it does not matter who leads", newPlay(before, renamed("k2", after), waiting).hold("x_a", km).hold("x_b", cm, mig).observe(10), "10 cloud"},
		{"a mirror that is created again shows the same process", newPlay(before).hold("x_a", km, mig).observe(5).run(renamed("again", before)).observe(10), "15 kube"},
		{"the same by the lease that only one with the flag asks for", newPlay(before, on("two", after)).hold("three_a", km, mig).observe(20), "20 kube"},
		{"the same, and it cannot be known", newPlay(before, on("two", kube(providerAWS))).hold("three_a", km).observe(20), "20 unknown"},
		{"a network cut is unknown, not without an owner", newPlay(before).hold("one_a", km, mig).observe(10).blind(20).observe(10), "9 kube, 21 unknown, 10 kube"},
		{"a short hiccup is none", newPlay(before).hold("one_a", km, mig).observe(10).blind(3).observe(10), "23 kube"},
		{"a manager that dies during a cut", newPlay(before).hold("one_a", km, mig).observe(10).die(km, mig).blind(20).observe(20), "9 kube, 21 unknown, 15 unknown, 5 none"},
		{"another instance takes both leases over", newPlay(before, elsewhere).hold("one_a", km, mig).observe(5).die(km, mig).observe(16).hold("two_a", km, mig).observe(5), "19 kube, 2 none, 5 kube"},
		{"a lease that its holder gave back", newPlay(before, waiting).hold("one_a", km, mig).hold("one_b", cm).observe(5).hold("", mig).die(mig).observe(2).hold("one_b", mig).observe(5), "5 kube, 2 none, 5 cloud"},
	} {
		assert.Equal(t, c.play.summary(), c.want, c.name)
	}
}

func TestHandoversAreMeasuredFromTheLastSign(t *testing.T) {
	p := newPlay(kube(providerAWS, flag), cloud("v1.26.6", flag, noRoutes)).hold("one_a", km, mig).hold("one_b", cm).observe(10)
	p.die(km, mig).observe(17).hold("one_b", mig).observe(5)
	p.summary()
	assert.Must(t, len(p.timeline.Handovers) == 1, p.timeline.Handovers)
	h := p.timeline.Handovers[0]
	took := h.FirstSign.Sub(h.LastSign)
	assert.Truef(t, h.From == km && h.To == cm && took == 18*time.Second, "%+v took %s", h, took)
}

func TestHandoversNameManagersWithLeasesOfTheirOwn(t *testing.T) {
	p := newPlay(kube(providerAWS, flag), cloud("v1.26.6", flag, noRoutes, "--leader-elect-resource-name=own")).hold("one_a", km, mig).hold("one_b", "own").observe(5)
	p.hold("one_b", mig).observe(5)
	p.summary()
	list := p.timeline.Handovers
	assert.True(t, len(list) == 1 && list[0].From == km && list[0].To == cm, list)
}

func TestSecondsAddUp(t *testing.T) {
	p := newPlay(kube(providerAWS, flag), cloud("v1.26.6", noRoutes)).hold("one_a", km, mig).observe(10).hold("one_b", cm).observe(10).die(km, cm, mig).observe(20).blind(30).observe(1)
	p.summary()
	owners, unknown := Seconds(p.got)
	assert.Equal(t, owners[0]+owners[1]+owners[2]+unknown, p.now.Sub(p.got[0].From).Seconds(), owners, unknown)
	assert.Truef(t, owners[1] != 0 && owners[2] != 0 && owners[0] != 0 && unknown >= 30, "%v, unknown %v", owners, unknown)
}

// Observations that are answered late say little about the time between them.
func TestSlowObservationsAreUnknown(t *testing.T) {
	p := newPlay(kube(providerAWS, flag)).hold("one_a", km, mig).observe(10)
	lease := func() []observed.Lease { return []observed.Lease{p.records[km], p.records[mig]} }
	for range 4 { // asked at once after the last answer, answered four seconds later
		p.got = append(p.got, p.timeline.Add(Sample{Asked: p.now, At: p.now.Add(4 * time.Second), Leases: lease(), Managers: p.managers})...)
		p.now = p.now.Add(4 * time.Second)
	}
	assert.Equal(t, p.summary(), "14 kube, 12 unknown, 0 unknown")
}

func TestWhatComesAfterTheLastObservationOfALostClusterIsUnknown(t *testing.T) {
	p := newPlay(kube(providerAWS, flag)).hold("one_a", km, mig).observe(10).blind(2)
	p.got = append(p.got, p.timeline.Lost(p.now)...)
	assert.Equal(t, p.summary(), "9 kube, 3 unknown")
}
