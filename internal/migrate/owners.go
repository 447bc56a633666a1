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
	"github.com/rke-lm/rke-lm/transform/live/check"
)

// Owned is for how many seconds the cloud controllers had so many owners.
type Owned struct {
	None    float64 `json:"none"`
	One     float64 `json:"one"`
	Two     float64 `json:"two"`
	Unknown float64 `json:"unknown"`
}

func (o Owned) String() string {
	return fmt.Sprintf("managers that ran the cloud controllers: none for %g s, one for %g s, two for %g s, unknown for %g s", o.None, o.One, o.Two, o.Unknown)
}

// ownersPause lies between two observations of who owns the cloud controllers. It is a fraction
// of every gap, and runs over many clusters look at as many at once.
const ownersPause = time.Second

// watched does the steps of a stage, and says who owned the cloud controllers in the
// meantime if the stage changes machines. It begins before the checks that come before the
// edit: until a lease has moved, it is unknown whether its holder is alive.
func (r *run) watched(ctx context.Context, steps ...func(context.Context) error) error {
	if !r.transition.Edits() {
		return inOrder(ctx, steps...)
	}
	owners := observe.Owners{Observer: r.observer.Another(), Given: r.Given}
	var intervals []check.Interval
	lost := false // the last observation failed, which stops no run
	watching, stop := context.WithCancel(ctx)
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			done, err := owners.Observe(watching)
			if watching.Err() != nil {
				return // it says nothing about the cluster
			}
			intervals, lost = append(intervals, done...), err != nil
			if !kube.Pause(watching, ownersPause) {
				return
			}
		}
	})
	err := inOrder(ctx, steps...)
	stop()
	ended.Wait()
	seconds, unknown := check.Seconds(append(intervals, owners.End(time.Now(), lost)...))
	o := Owned{tenths(seconds[0]), tenths(seconds[1]), tenths(seconds[2]), tenths(unknown)}
	r.emit(Event{Type: Watched, Message: o.String(), Owners: &o})
	return err
}

func tenths(seconds float64) float64 { return math.Round(seconds*10) / 10 }
