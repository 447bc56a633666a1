// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/live/preconditions"
	"github.com/rke-lm/rke-lm/transform/live/rights"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

// liveCluster is an object of a Rancher.
type liveCluster struct {
	server *rancher.Server
	object rancher.Object
}

// name is how a command line names the cluster.
func (l *liveCluster) name() string {
	if l.object.Namespace == "" {
		return l.object.Name
	}
	return l.object.Namespace + "/" + l.object.Name
}

// liveClusters yields what comes of the clusters of a Rancher, one after the other,
// as clusters does for those of files.
func (o *options) liveClusters(ctx context.Context, work func(found) (func() error, error)) iter.Seq[result] {
	return func(yield func(result) bool) {
		server, err := o.connect(o.streams, defaultPatience)
		var objects []rancher.Object
		if err == nil {
			objects, err = server.Find(ctx, o.query())
		}
		var part *rancher.Incomplete
		if err != nil && !errors.As(err, &part) {
			yield(failed(err))
			return
		}
		if len(objects) == 0 && part == nil {
			yield(failed(&failure{code: exitcode.Refused, err: rancher.ErrNone}))
			return
		}
		for _, object := range objects {
			if !yield(o.workLive(&liveCluster{server, object}, work)) || ctx.Err() != nil {
				return
			}
		}
		if part == nil {
			return
		}
		for _, hidden := range part.Unseen {
			if !yield(failed(fmt.Errorf("%s: %w", hidden.Title, hidden.Err))) {
				return
			}
		}
	}
}

// workLive opens an object as a document, and calls work for it.
func (o *options) workLive(l *liveCluster, work func(found) (func() error, error)) result {
	title := l.object.Title()
	p := piece{chunk: l.object.Chunk(), marked: true, end: true}
	p.source = source.FromReader(title, nil)
	r := result{piece: p, cluster: true, ended: []piece{p}}
	r.err = transform.Guard(title, func() error {
		f, err := o.open(p.chunk)
		switch {
		case err != nil:
			return err
		case f.docs == nil:
			return &failure{code: exitcode.Refused, err: fmt.Errorf("%s: it is not %s", title, o.documents())}
		}
		f.sources, f.live = []source.Source{p.source}, l
		r.show, err = work(f)
		return err
	})
	return r
}

// objections are what the object of a live cluster itself says against changing it;
// a file has none.
func (f found) objections(t transform.Target) []transform.Finding {
	if f.live == nil {
		return nil
	}
	return preconditions.Evaluate(preconditions.Seen{Title: f.live.object.Title(), Object: f.live.object.Raw}, t.Accept)
}

// judge returns what speaks against changing a live cluster. How far its last
// change has come is looked at unless that was acknowledged.
func (l *liveCluster) judge(ctx context.Context, f found, t transform.Target) ([]transform.Finding, error) {
	seen, err := l.server.Around(ctx, l.object)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(t.Accept, preconditions.NotSettled) {
		if seen.Progress, err = l.progress(ctx, f, t); err != nil {
			return nil, err
		}
	}
	return preconditions.Evaluate(seen, t.Accept), nil
}

// review asks for the rights that a verb needs, before anything is done. What a
// choice keeps from being looked at needs none.
func (l *liveCluster) review(ctx context.Context, verb string, t transform.Target) error {
	o := l.object
	needed := rights.Needed(verb, rights.Subject{Kind: o.Kind, Home: o.Home(), Name: o.Name, ID: o.ID})
	if slices.Contains(t.Accept, preconditions.NotSettled) {
		needed = slices.DeleteFunc(needed, func(r rights.Right) bool { return r.Resource == "secrets" || r.Resource == "machines" })
	}
	if err := l.server.Review(ctx, needed); err != nil {
		return fmt.Errorf("%s: %w", o.Title(), err)
	}
	return nil
}

// progress is that of the object as it is.
func (l *liveCluster) progress(ctx context.Context, f found, t transform.Target) (*rollout.Progress, error) {
	seen, err := l.server.Rollout(ctx, l.object)
	if err != nil {
		return nil, err
	}
	wanted, err := rollout.NewWanted(f.distro, f.docs[0], l.object.Raw, t)
	if err != nil {
		return nil, err
	}
	p := rollout.Evaluate(seen, wanted)
	return &p, nil
}
