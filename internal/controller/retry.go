// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/transition"
)

// retry is a wish to migrate again the clusters that failed or are skipped, and how they are now.
type retry struct {
	wish    string // the value of the annotation
	members []migrate.Member
}

// mostOfWish is what is kept of an annotation.
const mostOfWish = 100

func wishOf(lm *v1alpha1.LeaderMigration) string {
	return shortened(lm.Annotations[v1alpha1.RetryAnnotation], mostOfWish)
}

// reconsider evaluates the clusters that failed or are skipped again, if a user wishes so and it was not done
// before.
func (w *work) reconsider(ctx context.Context, runs Runs) {
	w.mu.Lock()
	r := &retry{wish: wishOf(w.lm)}
	wished := r.wish != "" && r.wish != w.retried && (w.retry == nil || w.retry.wish != r.wish)
	r.members = lists.Where(w.members, func(m migrate.Member) bool { return m.State == transition.Failed || m.State == transition.Skipped })
	w.mu.Unlock()
	if !wished {
		return
	}
	for i, m := range r.members {
		r.members[i] = w.reconsidered(ctx, runs, m)
	}
	if ctx.Err() != nil {
		return // another process does it
	}
	w.mu.Lock()
	w.retry = r
	w.mu.Unlock()
	w.requeue()
}

// reconsidered is a cluster that begins again, if it can be migrated now. What was measured of it stays.
func (w *work) reconsidered(ctx context.Context, runs Runs, was migrate.Member) migrate.Member {
	m := migrate.Member{Cluster: was.Cluster, ID: was.ID, Wave: was.Wave, Switch: was.Switch, Watched: was.Watched, State: transition.Failed, Since: time.Now().UTC()}
	found, err := runs.Find(ctx, rancher.Query{Name: was.Cluster})
	if m.Err = err; err == nil {
		m = w.classified(ctx, m, found[0], runs)
	}
	return m
}

// again returns the clusters that begin again, once. The status shows them together with the wish, so that
// another process neither forgets one nor begins again with one that failed since.
func (w *work) again() []migrate.Member {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.retry == nil {
		return nil
	}
	now := map[string]migrate.Member{}
	for _, m := range w.retry.members {
		now[m.Cluster] = m
	}
	for i, m := range w.members {
		if next, is := now[m.Cluster]; is {
			w.members[i] = next
			if isElsewhere(m) && !isElsewhere(next) {
				w.stale[m.Cluster] = true // its ConfigMap is deleted
			}
			w.happened = append(w.happened, eventOf(next))
		}
	}
	list := w.retry.members
	w.retried, w.retry = w.retry.wish, nil
	w.expire()
	w.mark()
	return list
}

// problem is why nothing can be decided.
type problem struct {
	reason transition.Reason
	err    error
}

// fails reports whether the LeaderMigration has failed, and passes whether the problem can pass while it stays as it is.
func (p *problem) fails() bool {
	return p != nil && slices.Contains([]transition.Reason{invalidSpec, notPermitted, tooMany}, p.reason)
}

func (p *problem) passes() bool {
	return p != nil && slices.Contains([]transition.Reason{notPermitted, notReady, fault}, p.reason)
}

// problemOf is why a LeaderMigration is refused; nil without an error.
func problemOf(err error) *problem {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*NotPermitted)):
		return &problem{notPermitted, err}
	}
	return &problem{invalidSpec, err}
}

// The reasons of problems.
const (
	invalidSpec   transition.Reason = "InvalidSpec"
	notPermitted  transition.Reason = "NotPermitted"
	tooMany       transition.Reason = "TooManyClusters"
	noClusters    transition.Reason = "NoClusters"
	notReady      transition.Reason = "RancherNotReady"
	fault         transition.Reason = "InternalError"
	progressing   transition.Reason = "Progressing"
	complete      transition.Reason = "Complete"
	tooManyFailed transition.Reason = "TooManyFailures"
	none          transition.Reason = "None"
)
