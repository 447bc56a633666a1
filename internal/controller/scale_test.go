// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/controller"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform/live/transition"
)

// load is what a number of clusters costs.
type load struct {
	clusters      int
	planned       time.Duration // of CPU time, until the first run starts
	idle          int           // requests in an hour of waiting for an approval
	local, inside int           // requests to Rancher's own cluster, and to the clusters
	took          time.Duration // on the clock of the test
	heap          uint64        // bytes beyond those before the start, at most
	status        int           // bytes of the LeaderMigration at the end
}

func (l load) String() string {
	per := func(n int) float64 { return float64(n) / float64(l.clusters) }
	return fmt.Sprintf("| %d | %.2f s | %d | %.0f | %.0f | %.1f | %.0f MB | %.0f kB |", l.clusters, l.planned.Seconds(), l.idle, per(l.local), per(l.inside), l.perSecond(), float64(l.heap)/1e6, float64(l.status)/1e3)
}

// follows is how long the machines of a cluster take to follow an edit.
const follows = time.Minute

// measured migrates clusters, ten at a time, on simulated machines.
func measured(t *testing.T, clusters int) (l load) {
	l.clusters = clusters
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range clusters {
			names = append(names, fmt.Sprintf("cluster-%03d", i))
		}
		w := newWorld(t, `{"selector":{},"maxUnavailable":10,"approval":"wave"}`, names...)
		w.slots, w.interval = 10, controller.Interval
		for _, one := range w.Worlds {
			follow := one.Follow
			one.Follow = func() { time.AfterFunc(follows, follow) }
		}
		before, cpu, done := heap(), used(), make(chan migrate.Member, clusters)
		w.onShow = func(m migrate.Member, _ migrate.Event) {
			if m.State.Ended() {
				done <- m
			}
		}
		w.run()
		w.await(v1alpha1.Waiting, string(transition.ApprovalRequired))
		l.planned = used() - cpu
		time.Sleep(time.Minute)
		l.receive(w)
		l.local, l.inside = 0, 0
		time.Sleep(time.Hour)
		l.receive(w)
		l.idle, l.local, l.inside = l.local+l.inside, 0, 0
		start := time.Now()
		w.approve(w.object().Status.Waves[0].Name, "")
		for n := 1; n <= clusters; n++ {
			m := <-done
			assert.Must(t, m.State == transition.Done, m)
			l.receive(w)
			if n%max(clusters/samples, 1) == 0 {
				l.heap = max(l.heap, heap()-min(heap(), before))
			}
		}
		l.took = time.Since(start)
		w.await(v1alpha1.Complete, "")
		l.status = len(w.Rancher.Object(path))
	})
	return l
}

// samples is how often memory is measured, which takes as long as there is memory.
const samples = 10

// take counts the requests that came, and forgets them and the Events, so that memory is not that of the simulation.
func (l *load) receive(w *world) {
	w.Rancher.RemoveAll("/events/")
	for _, one := range w.Worlds {
		one.API.Forget()
	}
	w.Rancher.Do(func() {
		for _, r := range w.Rancher.Requests {
			if strings.Contains(r, " /k8s/clusters/local/") {
				l.local++
			} else {
				l.inside++
			}
		}
		w.Rancher.Requests = nil
	})
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// used is the CPU time of the process.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perSecond is the number of requests in a second.
func (l load) perSecond() float64 { return float64(l.local+l.inside) / l.took.Seconds() }

// chart shows the clusters against the requests per second and the memory.
func chart(all []load) string {
	var b strings.Builder
	for _, c := range []struct {
		title, unit string
		of          func(load) float64
	}{{"requests per second", "", load.perSecond}, {"memory", " MB", func(l load) float64 { return float64(l.heap) / 1e6 }}} {
		most := 0.0
		for _, l := range all {
			most = max(most, c.of(l))
		}
		fmt.Fprintln(&b, c.title)
		for _, l := range all {
			const width = 40
			fmt.Fprintf(&b, "%5d %-*s %.0f%s\n", l.clusters, width, strings.Repeat("#", int(math.Round(c.of(l)/most*width))), c.of(l), c.unit)
		}
	}
	return b.String()
}

// A LeaderMigration that waits makes no requests, and a cluster costs the same among many.
func TestManyClustersMakeNoStormOfRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("it migrates tens of clusters")
	}
	sizes := []int{2, 6}
	if os.Getenv("RKE_LM_SCALE") != "" {
		sizes = []int{10, 100, 500}
	}
	t.Log("| clusters | CPU to plan all | requests in an hour of waiting | to Rancher per cluster | to the cluster | per second, ten at a time | memory | object |")
	var all []load
	for _, n := range sizes {
		all = append(all, measured(t, n))
		t.Log(all[len(all)-1])
	}
	t.Log("\n" + chart(all))
	first, last := all[0], all[len(all)-1]
	assert.Truef(t, !slices.ContainsFunc(all, func(l load) bool { return l.idle > 0 }), "requests while nothing happens: %+v", all)
	least := float64(first.inside+first.local) / float64(first.clusters)
	assert.Truef(t, float64(last.inside+last.local)/float64(last.clusters) <= 1.2*least, "a cluster costs more among many: %+v", all)
}
