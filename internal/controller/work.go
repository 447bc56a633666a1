// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform/waves"
)

// work is one LeaderMigration while this process leads.
type work struct {
	*Manager
	cancel context.CancelFunc
	wake   chan struct{} // something has changed that decides what is next
	dirty  chan struct{} // the status has changed

	mu         sync.Mutex
	lm         *v1alpha1.LeaderMigration // as it was seen last
	waves      []waves.Wave
	members    []migrate.Member
	ids        map[string]string // of clusters, in Rancher
	turn       waves.Turn
	problem    *problem // that keeps it from being migrated
	conditions []metav1.Condition
	happened   []happening
	stale      map[string]bool // clusters of other programs, whose next change has to be written
	former     map[string]bool // clusters that were of other programs, whose ConfigMap has to be deleted
	listed     time.Time       // when all clusters were listed last
	listing    bool            // they will be, as soon as it is time
	retried    string          // the wish that was fulfilled last
	retry      *retry          // that is to be fulfilled; nil for none
}

// problem is why nothing can be decided.
type problem struct {
	reason waves.Reason
	err    error
}

// The reasons of problems.
const (
	invalidSpec   waves.Reason = "InvalidSpec"
	noClusters    waves.Reason = "NoClusters"
	notReady      waves.Reason = "RancherNotReady"
	progressing   waves.Reason = "Progressing"
	complete      waves.Reason = "Complete"
	tooManyFailed waves.Reason = "TooManyFailures"
	none          waves.Reason = "None"
)

// again is when what failed outside of a run is tried again, and how often clusters are listed because one of them has
// changed.
const again = 30 * time.Second

func newWork(m *Manager, lm *v1alpha1.LeaderMigration, cancel context.CancelFunc) *work {
	w := &work{Manager: m, lm: lm, cancel: cancel, wake: make(chan struct{}, 1), dirty: make(chan struct{}, 1), stale: map[string]bool{}, former: map[string]bool{}, conditions: lm.Status.DeepCopy().Conditions}
	w.waves, w.members, w.ids = resumed(lm.Status)
	w.retried = lm.Status.ObservedRetry
	w.expire()
	return w
}

// poke asks again what is next.
func (w *work) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// update takes another version of the LeaderMigration.
func (w *work) update(lm *v1alpha1.LeaderMigration) {
	w.mu.Lock()
	changed, wished := lm.Generation != w.lm.Generation, wishOf(lm) != wishOf(w.lm)
	w.lm = lm.DeepCopy()
	w.mu.Unlock()
	if wished {
		w.mark()
	}
	if changed || wished {
		w.poke()
	}
}

func (w *work) current() *v1alpha1.LeaderMigration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lm
}

// clusterChanged is called when a cluster has changed, which means something if none was
// found, or if another program manages it.
func (w *work) clusterChanged(cluster types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case len(w.members) == 0:
		w.lookAgain()
	case w.expire(cluster.String(), cluster.Name): // an RKE1 cluster has its ID alone
		w.mark()
		w.poke()
	}
}

// lookAgain lets the clusters be listed again, but not more often than in a while: changes of clusters come as they like,
// and each list is of all of them.
func (w *work) lookAgain() {
	if w.listing {
		return
	}
	w.listing = true
	time.AfterFunc(again-time.Since(w.listed), func() {
		w.mu.Lock()
		w.listing, w.listed = false, time.Now() // what changes until they are listed waits for the next time
		w.mu.Unlock()
		w.poke()
	})
}

// expire lets the next change of clusters that another program manages be written again, of all that
// there are if none is named. It reports whether there is one.
func (w *work) expire(clusters ...string) bool {
	found := false
	for _, m := range w.members {
		if isElsewhere(m) && (len(clusters) == 0 || slices.Contains(clusters, m.Cluster)) {
			w.stale[m.Cluster], found = true, true
		}
	}
	return found
}

func isElsewhere(m migrate.Member) bool {
	e := (*elsewhere)(nil)
	return m.State == waves.Skipped && errors.As(m.Err, &e)
}

// loop does what can be done until the context ends.
func (w *work) loop(ctx context.Context) {
	for ctx.Err() == nil {
		var later <-chan time.Time
		if p := w.once(ctx); p != nil && p.reason == notReady {
			later = time.After(again)
		}
		select {
		case <-w.wake:
		case <-later:
		case <-ctx.Done():
		}
	}
}

// once goes as far as it is possible now.
func (w *work) once(ctx context.Context) *problem {
	runs, p := w.prepared(ctx)
	w.mu.Lock()
	w.problem = p
	w.mu.Unlock()
	if p == nil {
		w.drive(ctx, runs)
	}
	if ctx.Err() == nil {
		w.write(ctx)
	}
	return p
}

// prepared reads what is chosen, and selects the clusters if that was not done before.
func (w *work) prepared(ctx context.Context) (Runs, *problem) {
	lm := w.current()
	if _, err := policyOf(lm, nil); err != nil {
		return nil, &problem{invalidSpec, err}
	}
	runs, err := w.Choose(ctx, lm.Spec)
	if err != nil {
		return nil, &problem{invalidSpec, err}
	}
	if len(w.members) > 0 {
		w.reconsider(ctx, runs)
		w.explain(ctx, runs)
		return runs, nil
	}
	w.mu.Lock()
	w.listed = time.Now()
	w.mu.Unlock()
	switch err := w.selected(ctx, runs); {
	case err != nil:
		return nil, &problem{notReady, err}
	case len(w.members) == 0:
		return nil, &problem{noClusters, errors.New("no cluster has the labels of spec.selector")}
	}
	w.explain(ctx, runs) // before the status shows that there is something to read
	w.write(ctx)
	return runs, nil
}

// set sets the clusters.
func (w *work) set(list []waves.Wave, members []migrate.Member, of map[string]rancher.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waves, w.members, w.ids = list, members, map[string]string{}
	for name, o := range of {
		w.ids[name] = o.ID
	}
	w.retried = wishOf(w.lm) // there was nothing to retry
	w.expire()
}

// drive migrates clusters until nothing more can start, and nothing will.
func (w *work) drive(ctx context.Context, runs Runs) {
	publishing, stop := context.WithCancel(ctx)
	var published sync.WaitGroup
	published.Go(func() { w.publish(publishing, runs) })
	defer published.Wait()
	defer stop()
	f := &migrate.Fleet{Waves: w.waves, Open: func(cluster string) (migrate.Options, error) { return runs.Open(ctx, cluster) }, OnChange: w.changed}
	f.Lasting = &migrate.Lasting{
		Members: slices.Clone(w.members), Wake: w.wake, OnTurn: w.turned, Slots: w.Slots, Audit: &w.audit,
		Again: w.again, Next: w.next, Gate: w.gate,
		Rollback: func() bool { return w.current().Spec.RollbackOnFailure },
	}
	f.Run(ctx)
}

// next decides what is next, by the LeaderMigration as it is now.
func (w *work) next(list []migrate.Member) waves.Turn {
	p, err := w.policy()
	if err != nil {
		return waves.Turn{Wait: &waves.Wait{Reason: invalidSpec}}
	}
	return p.Next(w.waves, migrate.Progress(list), time.Now())
}

// gate is what keeps a stage from beginning now.
func (w *work) gate(wave, stage string) *waves.Wait {
	p, err := w.policy()
	if err != nil {
		return &waves.Wait{Reason: invalidSpec}
	}
	return p.Stage(wave, stage, time.Now())
}

// policy is that of the LeaderMigration as it is now.
func (w *work) policy() (waves.Policy, error) {
	lm := w.current()
	p, err := policyOf(lm, w.Approvals(lm.Namespace, lm.Name))
	var found *problem
	if err != nil {
		found = &problem{invalidSpec, err}
	}
	w.mu.Lock()
	w.problem = found
	w.mu.Unlock()
	return p, err
}

// changed takes a cluster that has changed.
func (w *work) changed(m migrate.Member, e migrate.Event) {
	if w.Show != nil {
		w.Show(w.name(), m, e)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.members, func(o migrate.Member) bool { return o.Cluster == m.Cluster })
	if w.members[i].State != m.State {
		w.happened = append(w.happened, happeningOf(m))
	}
	w.members[i] = m
	w.mark()
}

// turned takes what was decided.
func (w *work) turned(t waves.Turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn = t
	w.mark()
}

// mark says that the status has changed.
func (w *work) mark() {
	select {
	case w.dirty <- struct{}{}:
	default:
	}
}

func (w *work) name() string {
	lm := w.current()
	return fmt.Sprintf("%s/%s", lm.Namespace, lm.Name)
}
