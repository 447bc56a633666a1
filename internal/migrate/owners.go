// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/transform/live/ownership"
	"github.com/rke-lm/rke-lm/transform/live/route"
)

// Owned is for how many seconds the cloud controllers had so many owners.
type Owned struct {
	None    float64 `json:"none"`
	One     float64 `json:"one"`
	Two     float64 `json:"two"`
	Unknown float64 `json:"unknown"`
}

func (o Owned) String() string {
	return fmt.Sprintf("owners of the cloud controllers: none for %g s, one for %g s, two for %g s, unknown for %g s", o.None, o.One, o.Two, o.Unknown)
}

// ownersPause lies between two looks at who owns the cloud controllers. It is a fraction
// of every gap, and runs over many clusters look at as many at once.
const ownersPause = time.Second

// watched does the work of a stage, and says who owned the cloud controllers in the
// meantime if the stage changes machines. It begins before the checks that come before the
// edit: until a lease has moved, it is unknown whether its holder is alive.
func (r *run) watched(ctx context.Context, t route.Transition, work func() error) error {
	if !t.Edits() {
		return work()
	}
	w := watch{owners: observe.Owners{Observer: r.cluster.observer.Another(), Given: r.Given}}
	w.begin(ctx)
	err := work()
	o := w.end()
	r.events.emit(Event{Type: Watched, Message: o.String(), Owned: &o})
	return err
}

// watch looks at the owners until it ends. What it cannot see is unknown, and stops no run.
type watch struct {
	owners    observe.Owners
	intervals []ownership.Interval
	lost      bool // the last look failed
	stop      context.CancelFunc
	ended     sync.WaitGroup
}

func (w *watch) begin(ctx context.Context) {
	ctx, w.stop = context.WithCancel(ctx)
	w.ended.Go(func() {
		for {
			done, err := w.owners.Look(ctx)
			if ctx.Err() != nil {
				return // it says nothing about the cluster
			}
			w.intervals, w.lost = append(w.intervals, done...), err != nil
			if !kube.Pause(ctx, ownersPause) {
				return
			}
		}
	})
}

func (w *watch) end() Owned {
	w.stop()
	w.ended.Wait()
	owners, unknown := ownership.Seconds(append(w.intervals, w.owners.End(time.Now(), w.lost)...))
	return Owned{tenths(owners[0]), tenths(owners[1]), tenths(owners[2]), tenths(unknown)}
}

func tenths(seconds float64) float64 { return math.Round(seconds*10) / 10 }
