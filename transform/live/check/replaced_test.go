// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// running is a pod on a host with a container.
func running(pod, host, container string, args ...string) observed.Manager {
	m := kube(args...)
	m.Pod, m.Hosts, m.Container = pod, []string{host}, container
	return m
}

func mirror(m observed.Manager) observed.Manager { m.Mirror = true; return m }
func ended(m observed.Manager) observed.Manager  { m.Ended = true; return m }

func TestAnIdentityEndsWithItsContainer(t *testing.T) {
	one, two := running("k1", "one", "c1", providerAWS), running("k2", "two", "c2", providerAWS)
	again := running("k1", "one", "c9", providerAWS)
	for _, c := range []struct {
		name string
		play *play
		want string
	}{
		{"restarted in place: the same pod, another container", newPlay(one, two).hold("one_a", km).observe(10).die(km).run(again, two).observe(20), "10 kube, 20 none"},
		{"in a pod that waits to be started again", newPlay(one, two).hold("one_a", km).observe(10).die(km).run(ended(one), two).observe(20), "10 kube, 20 none"},
		{"its pod was replaced by one of another name", newPlay(one).hold("one_a", km).observe(10).die(km).run(running("k9", "one", "c9", providerAWS)).observe(20), "10 kube, 20 none"},
		{"its pod is gone", newPlay(one, two).hold("one_a", km).observe(10).die(km).run(two).observe(20), "10 kube, 20 none"},
		{"a mirror with a new container", newPlay(mirror(one), two).hold("one_a", km).observe(10).die(km).run(mirror(again), two).observe(20), "10 kube, 20 none"},
		{"a mirror that is gone shows nothing, and its container may run on", newPlay(mirror(one)).hold("one_a", km).observe(10).run(mirror(two)).observe(20), "30 kube"},
		{"a mirror that comes back shows the same container", newPlay(mirror(one), two).hold("one_a", km).observe(10).run(two).observe(2).run(mirror(running("k7", "one", "c1", providerAWS)), two).observe(10), "22 kube"},
		{"a container that no kubelet has reported yet", newPlay(one, two).hold("one_a", km).observe(10).die(km).run(running("k1", "one", "", providerAWS), two).observe(5).run(again, two).observe(15), "15 kube, 15 none"},
		{"of two on its host one is left", newPlay(one, running("k3", "one", "c3", providerAWS)).hold("one_a", km).observe(10).run(again, running("k3", "one", "c3", providerAWS)).observe(20), "30 kube"},
		{"of two on its host none is left", newPlay(one, running("k3", "one", "c3", providerAWS)).hold("one_a", km).observe(10).die(km).run(again).observe(20), "10 kube, 20 none"},
		{"a host of no name that is known, and one of two is left", newPlay(one, two).hold("other_a", km).observe(10).run(again, two).observe(20), "30 kube"},
		{"a host of no name that is known, and none is left", newPlay(one, two).hold("other_a", km).observe(10).die(km).run(again).observe(20), "10 kube, 20 none"},
		{"the manager next to it on its host is another component", newPlay(one, func() observed.Manager { m := cloud("v1.26.6", noRoutes); m.Container = "c5"; return m }()).hold("one_a", km).observe(10).die(km).run(again, func() observed.Manager { m := cloud("v1.26.6", noRoutes); m.Container = "c5"; return m }()).observe(20), "10 kube, 20 none"},
		{"the new one leads as soon as it does", newPlay(one, two).hold("one_a", km).observe(10).die(km).run(again, two).observe(17).hold("one_b", km).observe(10), "10 kube, 17 none, 10 kube"},
		{"who renews all the same was none of those", newPlay(one).hold("one_a", km).observe(10).run(again).observe(20), "10 kube, 2 none, 18 kube"},
		{"a leader that is seen before its pod", newPlay().hold("one_a", km).observe(2).run(one).observe(8).die(km).run(again).observe(20), "2 unknown, 8 kube, 20 none"},
		{"a leader that is seen while its pod shows the container before", newPlay(ended(one)).observe(20).hold("one_b", km).observe(2).run(again).observe(10), "20 none, 12 kube"},
		{"after a time without looks nothing is remembered", newPlay(one, two).hold("one_a", km).observe(10).blind(20).run(again, two).observe(10), "9 kube, 21 unknown, 10 kube"},
	} {
		assert.Equal(t, c.play.summary(), c.want, c.name)
	}
}

// The migration lease ends with its holder, too.
func TestAReplacedHolderOfTheMigrationLeaseOwnsNothing(t *testing.T) {
	before, waiting := running("k1", "one", "c1", providerAWS, flag), cloud("v1.26.6", flag, noRoutes)
	p := newPlay(before, waiting).hold("one_a", km, mig).hold("one_b", cm).observe(10)
	p.die(km, mig).run(running("k1", "one", "c9", providerAWS, flag), waiting).observe(17).hold("one_b", mig).observe(5)
	assert.Equal(t, p.summary(), "10 kube, 17 none, 5 cloud")
}

// A renewal from before the container was replaced may be seen after it.
func TestARenewalThatIsSeenLateIsNoSignOfLife(t *testing.T) {
	p := newPlay(running("k1", "one", "c1", providerAWS)).hold("one_a", km).observe(10)
	p.run(running("k1", "one", "c9", providerAWS)).observe(1).die(km).observe(19)
	assert.Equal(t, p.summary(), "10 kube, 20 none")
}

// election is a real one of managers on hosts: leases of 15 seconds, renewed every
// two, by processes whose containers are replaced at random, which kubelets report
// late. Steps are of half a second.
type election struct {
	*rand.Rand
	step     int
	hosts    []*machine
	lease    observed.Lease
	renewed  int // step
	observed map[string]int
}

type machine struct {
	name       string
	started    int // containers so far
	since      int // step in which this one began
	reported   int // the container that the kubelet reports
	knownAfter int // steps after the start
	pods       int // pods so far; 0 for a mirror
}

func (m *machine) identity() string { return fmt.Sprintf("%s_%d", m.name, m.started) }

func newElection(seed int64) *election {
	e := &election{Rand: rand.New(rand.NewSource(seed)), observed: map[string]int{}}
	e.lease = observed.Lease{Name: km, DurationSeconds: 15}
	for _, name := range []string{"one", "two", "three"} {
		e.hosts = append(e.hosts, &machine{name: name, started: 1, reported: 1, pods: e.Intn(2)})
	}
	return e
}

// next continues by half a second, and returns the leader that lives, or "".
func (e *election) next() string {
	e.step++
	leads := ""
	for _, m := range e.hosts {
		if e.Intn(120) == 0 {
			m.started, m.since, m.knownAfter = m.started+1, e.step, e.Intn(7)
			if m.pods > 0 {
				m.pods++
			}
		}
		if e.step-m.since >= m.knownAfter {
			m.reported = m.started
		}
		switch {
		case e.lease.Holder == m.identity():
			if leads = m.identity(); e.step%4 == 0 {
				e.renew()
			}
		case e.step-e.renewed > 30 && e.step%5 == 0: // expired as everybody saw it
			e.lease.Holder, e.lease.Transitions, leads = m.identity(), e.lease.Transitions+1, m.identity()
			e.renew()
		}
	}
	return leads
}

func (e *election) renew() {
	e.renewed = e.step
	e.lease.Renewed = time.Unix(int64(e.step), 0)
}

func (e *election) managers() []observed.Manager {
	var list []observed.Manager
	for _, m := range e.hosts {
		pod := running(fmt.Sprintf("k-%s-%d", m.name, m.pods), m.name, fmt.Sprintf("c-%s-%d", m.name, m.reported), providerAWS)
		pod.Mirror = m.pods == 0
		list = append(list, pod)
	}
	return list
}

// The manager that lives and leads is the reported owner, and who was seen replaced is
// not: what is reported is late by no more than kubelets and observations are.
func TestOwnersAreThoseOfRealElections(t *testing.T) {
	for seed := range int64(15) {
		e := newElection(seed)
		var timeline Timeline
		var reported []Interval
		start := time.Date(2025, 3, 11, 10, 0, 0, 0, time.UTC)
		led := map[int]string{}
		var managers []observed.Manager
		const steps = 1200
		for n := range steps {
			led[n] = e.next()
			if n%4 == 0 {
				managers = e.managers()
			}
			at := start.Add(time.Duration(n) * time.Second / 2)
			reported = append(reported, timeline.Add(Sample{At: at, Leases: []observed.Lease{e.lease}, Managers: managers})...)
		}
		reported = append(reported, timeline.End(start.Add(steps*time.Second/2))...)
		wrong := 0
		for n := 60; n < steps; n++ {
			at := start.Add(time.Duration(n) * time.Second / 2)
			i := slices.IndexFunc(reported, func(i Interval) bool { return !at.Before(i.From) && at.Before(i.To) })
			owned := i >= 0 && reported[i].Count == 1
			const late = 12 // steps: what kubelets take, and two observations of the pods
			same := func(want bool) bool {
				for k := max(0, n-late); k <= n; k++ {
					if (led[k] != "") == want {
						return true
					}
				}
				return false
			}
			if reported[i].Unknown == "" && !same(owned) {
				wrong++
			}
		}
		assert.Truef(t, wrong <= 0, "seed %d: %d of %d moments are reported wrong", seed, wrong, steps)
	}
}
