// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
	"github.com/rke-lm/rke-lm/transform/live/check"
)

// drill ends the active one of two controllers again and again.
type drill struct {
	*controlled
	dice  *rand.Rand
	fresh chan struct{} // a stage has begun in which no controller was killed yet

	mu     sync.Mutex
	active *process          // that was heard last; nil after it was ended
	at     map[string]string // the stages of the clusters in progress
	kills  map[string]int    // by stage
	moves  int               // of the leadership, by a controller that was stopped
	left   bool              // a controller was killed that had just made the Service of the canary check
}

// leaving kills the active controller when it makes the Service of the canary check, which is left then.
func (d *drill) leaving() {
	makes := func(r rancher.Request) bool {
		return r.Method == http.MethodPatch && strings.HasSuffix(r.Path, "/services/"+check.CanaryName)
	}
	d.rancher.Before(makes, func() {
		if ended, killed := d.end(true); !ended || !killed {
			d.leaving() // it was ended in this moment
			return
		}
		d.mu.Lock()
		d.left = true
		d.mu.Unlock()
		d.run(d.hear) // the next one that waits
	})
}

// hear follows the runs of a controller.
func (d *drill) hear(p *process, e report.RunEvent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active = p
	switch {
	case e.Type == migrate.Finished || e.Type == migrate.Stopped:
		delete(d.at, e.Cluster)
	case e.Stage != "":
		d.at[e.Cluster] = e.Stage
	}
	if e.Type == migrate.Staged && d.kills[e.Stage] == 0 {
		d.kills[e.Stage] = 0 // it is one of the stages
		select {
		case d.fresh <- struct{}{}:
		default:
		}
	}
}

// moment waits for the moment of the next end, and reports whether it came: inside of a stage in which no controller was
// killed, or when no one chose it. At last only the former count: kills are left for the stages that have not begun.
func (d *drill) moment(left int) bool {
	const stages = 8 // that a run announces
	d.mu.Lock()
	known := 0
	for _, n := range d.kills {
		known += min(n, 1)
	}
	d.mu.Unlock()
	chosen, ends := time.Duration(5+d.dice.IntN(30))*time.Second, left > stages-known
	if !ends {
		chosen = 5 * time.Second
	}
	select {
	case <-d.fresh:
		time.Sleep(time.Duration(d.dice.IntN(2)*d.dice.IntN(2500)) * time.Millisecond) // some stages are short
		return true
	case <-time.After(chosen):
		return ends
	}
}

// end ends the active controller, if there is one, and reports whether it was killed.
func (d *drill) end(kill bool) (ended, killed bool) {
	d.mu.Lock()
	p := d.active
	d.active = nil
	inside := slices.Collect(maps.Values(d.at))
	clear(d.at)
	d.mu.Unlock()
	if p == nil {
		return false, false
	}
	if kill || slices.ContainsFunc(inside, func(stage string) bool { return d.count(stage) == 0 }) || d.dice.IntN(3) > 0 {
		p.kill()
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, stage := range inside {
			d.kills[stage]++
		}
		return true, true
	}
	p.stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moves++
	clear(d.at) // its last events
	d.active = nil
	return true, false
}

// again ends a controller at the next moment, and counts whether it was killed.
func (d *drill) again(left int) (kills int) {
	d.Helper()
	for {
		came := d.moment(left)
		if meta.IsStatusConditionTrue(d.now().Status.Conditions, v1alpha1.Complete) {
			d.Fatalf("all clusters have ended, and %d kills are left", left)
		}
		if !came {
			continue
		}
		switch ended, killed := d.end(false); {
		case killed:
			return 1
		case ended:
			return 0
		}
	}
}

func (d *drill) count(stage string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kills[stage]
}

// Controllers are killed at moments that no one chose, and inside of every stage, while another one waits. Some are
// stopped. The clusters come to the same state.
func TestControllersThatAreKilledAtAnyMomentOfARancher(t *testing.T) {
	onlyInSoak(t)
	const number = 20
	seed, began := seedOf(t), time.Now()
	c := rke2Cluster(t)
	k := c.control(c.also("second"), c.also("third"))
	d := &drill{controlled: k, dice: rand.New(rand.NewPCG(seed, 2)), fresh: make(chan struct{}, 1), at: map[string]string{}, kills: map[string]int{}}
	var stops []func()
	for _, one := range k.all {
		stops = append(stops, one.busy())
	}
	k.migration("  maxUnavailable: 2\n  canaryService: true\n  waves: [{name: canary, size: 1}, {name: others}]\n")
	d.leaving()
	k.run(d.hear)
	kills := 0
	for kills < number {
		k.run(d.hear) // the next one that waits
		kills += d.again(number - kills)
	}
	k.becomes(v1alpha1.Complete, "")
	fmt.Printf("soak controller-killed seed=%d kills=%d moves=%d minutes=%.1f stages=%v\n", seed, kills, d.moves, time.Since(began).Minutes(), d.kills)
	for _, stop := range stops {
		stop()
	}
	d.harmless()
	for i, one := range k.all {
		one.scenario.end(fmt.Sprintf("controller-killed-%d-times-%d", kills, i+1))
	}
}

// harmless requires that there was a kill inside of every stage, and that all clusters are as after a run that nothing
// disturbs.
func (d *drill) harmless() {
	d.Helper()
	for stage, n := range d.kills {
		if n == 0 {
			d.Errorf("no controller was killed inside of %s", stage)
		}
	}
	if got := d.over(); got != "lab=done second=done third=done" || len(d.kills) < 6 {
		d.Errorf("%s, %v", got, d.kills)
	}
	for _, one := range d.now().Status.Clusters {
		assert.Equal(d, one.TwoOwnersSeconds, 0, one)
	}
	if !d.left {
		d.Error("no controller was killed during the canary check")
	}
	d.unlocked()
	for _, one := range d.all {
		one.served()
		one.writers(cluster.KCM, cluster.CCM)
		one.neverTwo()
		one.without(check.CanaryName)
		one.is(undisturbed(d.T).external)
	}
	d.audited()
}

// without requires that the namespace of the canary check, and the Service in it, are deleted.
func (s *scenario) without(namespace string) {
	s.Helper()
	s.eventually("the end of the namespace "+namespace, func(ctx context.Context) bool {
		_, err := s.client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
