// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/transition"
)

// work is one LeaderMigration while this process leads.
type work struct {
	*Manager
	cancel context.CancelFunc
	wake   chan struct{} // something has changed that decides what is next
	dirty  chan struct{} // the status has changed

	mu         sync.Mutex
	lm         *v1alpha1.LeaderMigration // as it was seen last
	bad        error                     // why it cannot be decoded
	digest     string                    // of what cannot be changed of it
	approval   string                    // the strictest that it has had
	seen       time.Time                 // when something was decided; zero while there is nothing to decide
	waves      []transition.Wave
	members    []migrate.Member
	turn       transition.Turn
	problem    *problem // that keeps it from being migrated
	conditions []metav1.Condition
	happened   []corev1.Event
	stale      map[string]bool // clusters that are or were of other programs, whose ConfigMap is not true any more
	listed     time.Time       // when all clusters were listed last
	listing    bool            // they will be, as soon as it is time
	retried    string          // the wish that was fulfilled last
	retry      *retry          // that is to be fulfilled; nil for none
}

// again is when what failed outside of a run is tried again, and how often clusters are listed because one of them has
// changed.
const again = 30 * time.Second

func newWork(m *Manager, lm *v1alpha1.LeaderMigration, bad error, cancel context.CancelFunc) *work {
	w := &work{Manager: m, lm: lm, bad: bad, cancel: cancel, wake: make(chan struct{}, 1), dirty: make(chan struct{}, 1), stale: map[string]bool{}, conditions: slices.Clone(lm.Status.Conditions)}
	w.waves, w.members = resumed(lm.Status)
	w.retried, w.digest, w.approval = lm.Status.ObservedRetry, lm.Status.SpecDigest, lm.Status.Approval
	if len(w.members) > 0 && w.digest == "" && bad == nil {
		w.digest = digestOf(lm.Spec) // an earlier release has selected the clusters
	}
	w.expire()
	return w
}

// requeue asks again what is next.
func (w *work) requeue() { signal(w.wake) }

// update takes another version of the LeaderMigration. Of one that cannot be decoded nothing begins, and what has begun
// is completed as it was chosen.
func (w *work) update(lm *v1alpha1.LeaderMigration, bad error) {
	w.mu.Lock()
	changed := lm.Generation != w.lm.Generation || wishOf(lm) != wishOf(w.lm) || (bad == nil) != (w.bad == nil)
	if bad != nil {
		lm.Spec = w.lm.Spec
	}
	w.lm, w.bad = lm, bad
	w.mu.Unlock()
	if changed {
		w.mark()
		w.requeue()
	}
}

// unread reports whether nothing is known of the clusters because the LeaderMigration could not be decoded.
func (w *work) unread() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bad != nil && len(w.members) == 0
}

// alive sets whether there is something to decide; what takes long calls it again.
func (w *work) alive(is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen = (time.Time{}); is {
		w.seen = time.Now()
	}
}

func (w *work) turnedAt() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
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
		w.listAgain()
	case w.expire(cluster.String(), cluster.Name): // an RKE1 cluster has its ID alone
		w.mark()
		w.requeue()
	}
}

// listAgain lets the clusters be listed again, but not more often than in a while: changes of clusters come as they like,
// and each list is of all of them.
func (w *work) listAgain() {
	if w.listing {
		return
	}
	w.listing = true
	time.AfterFunc(again-time.Since(w.listed), func() {
		w.mu.Lock()
		w.listing, w.listed = false, time.Now() // what changes until they are listed waits for the next time
		w.mu.Unlock()
		w.requeue()
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

// loop does what can be done until the context ends.
func (w *work) loop(ctx context.Context) {
	for ctx.Err() == nil {
		var later <-chan time.Time
		w.alive(true)
		if p := w.once(ctx); p.passes() {
			later = time.After(again)
		}
		w.alive(false)
		select {
		case <-w.wake:
		case <-later:
		case <-ctx.Done():
		}
	}
}

// once goes as far as it is possible now.
func (w *work) once(ctx context.Context) (p *problem) {
	err := transform.Guard(w.name(), func() error {
		var runs Runs
		if runs, p = w.prepared(ctx); p == nil {
			w.drive(ctx, runs)
		}
		return nil
	})
	if err != nil {
		p = &problem{fault, err}
		w.Log(err.Error())
	}
	if p != nil {
		w.stopped(p)
	}
	if ctx.Err() == nil {
		w.write(ctx)
	}
	return p
}

// stopped sets why nothing can be decided; nil for no reason.
func (w *work) stopped(p *problem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if (p == nil) != (w.problem == nil) || p != nil && (p.reason != w.problem.reason || p.err.Error() != w.problem.err.Error()) {
		w.mark()
	}
	w.problem = p
}

// prepared reads what is chosen, and selects the clusters if that was not done before.
func (w *work) prepared(ctx context.Context) (Runs, *problem) {
	if _, err := w.policy(); err != nil {
		return nil, problemOf(err)
	}
	runs, err := w.Choose(ctx, w.current().Spec)
	if err != nil {
		return nil, problemOf(err)
	}
	if len(w.members) > 0 {
		w.reconsider(ctx, runs)
		w.explain(ctx, runs)
		return runs, nil
	}
	w.mu.Lock()
	w.listed = time.Now()
	w.mu.Unlock()
	if p := w.selected(ctx, runs); p != nil {
		return nil, p
	}
	w.explain(ctx, runs) // before the status shows that there is something to read
	w.write(ctx)
	return runs, nil
}

// drive migrates clusters until nothing more can start, and nothing will.
func (w *work) drive(ctx context.Context, runs Runs) {
	publishing, stop := context.WithCancel(ctx)
	var published sync.WaitGroup
	published.Go(func() {
		if err := transform.Guard(w.name(), func() error { w.publish(publishing, runs); return nil }); err != nil {
			w.Log(err.Error())
		}
	})
	defer published.Wait()
	defer stop()
	f := &migrate.Fleet{Waves: w.waves, Open: func(cluster string) (migrate.Options, error) { return w.open(ctx, runs, cluster) }, OnChange: w.changed}
	f.Resume = &migrate.Resumable{
		Members: slices.Clone(w.members), Wake: w.wake, Slots: w.Slots,
		Again: w.again, Next: w.next, Gate: w.gate,
		Rollback: func() bool { return w.current().Spec.RollbackOnFailure },
	}
	f.Run(ctx)
}

// open makes the run over a cluster, with what the approvals of its wave accept by now: whoever can change the
// LeaderMigration cannot accept more than it did.
func (w *work) open(ctx context.Context, runs Runs, cluster string) (o migrate.Options, err error) {
	w.mu.Lock()
	lm, i := w.lm, slices.IndexFunc(w.members, func(m migrate.Member) bool { return m.Cluster == cluster })
	wave := w.members[i].Wave
	w.mu.Unlock()
	rules := lists.Flat(approving(lm, w.Approvals(lm.Namespace, lm.Name)), func(a v1alpha1.LeaderMigrationApprovalSpec) []string {
		return lists.If(a.Wave == wave, a.Accept...)
	})
	if len(rules) > 0 {
		if runs, err = w.Choose(ctx, lm.Spec, rules...); err != nil {
			return o, err
		}
	}
	return runs.Open(ctx, cluster)
}

// next decides what is next, by the LeaderMigration as it is now.
func (w *work) next(list []migrate.Member) transition.Turn {
	p, err := w.policy()
	t := transition.Turn{}
	if err != nil {
		t.Wait = &transition.Wait{Reason: problemOf(err).reason}
	} else {
		t = p.Next(w.waves, migrate.Progress(list), time.Now())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !reflect.DeepEqual(t, w.turn) {
		w.mark()
	}
	w.turn, w.seen = t, time.Now()
	return t
}

// gate is what keeps a stage from beginning now.
func (w *work) gate(wave, stage string) *transition.Wait {
	p, err := w.policy()
	if err != nil {
		return &transition.Wait{Reason: problemOf(err).reason}
	}
	return p.Stage(wave, stage, time.Now())
}

// policy is that of the LeaderMigration and of the operator as they are now.
func (w *work) policy() (p transition.Policy, err error) {
	lm, need, err := w.valid()
	var operator Policy
	if err == nil {
		operator, err = w.Policy()
	}
	if err == nil {
		p, err = policyOf(lm, stricter(need, operator.lists[leastApproval][0]), w.Approvals(lm.Namespace, lm.Name))
	}
	w.stopped(problemOf(err))
	return p, err
}

// valid is the LeaderMigration as it is now, with the strictest approval that it has required: who can change it cannot
// change what others have approved, nor that they have to.
func (w *work) valid() (lm *v1alpha1.LeaderMigration, need string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.bad != nil:
		return nil, "", w.bad
	case w.digest != "" && w.digest != digestOf(w.lm.Spec):
		return nil, "", errors.New("spec: selector, options, until, etcdSnapshot, canaryService or waves have changed since the clusters were selected; restore them, or create another LeaderMigration")
	}
	if need = stricter(w.approval, w.lm.Spec.Approval); need != w.approval {
		w.approval = need
		w.mark()
	}
	return w.lm, need, nil
}

// changed takes a cluster that has changed.
func (w *work) changed(m migrate.Member, e migrate.Event) {
	w.Show(w.name(), m, e)
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.members, func(o migrate.Member) bool { return o.Cluster == m.Cluster })
	if w.members[i].State != m.State {
		w.happened = append(w.happened, eventOf(m))
	}
	w.members[i] = m
	w.mark()
}

// mark says that the status has changed.
func (w *work) mark() { signal(w.dirty) }

// signal sends to a channel with room for one, unless something is in it.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

func (w *work) name() string {
	lm := w.current()
	return lm.Namespace + "/" + lm.Name
}
