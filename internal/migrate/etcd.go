// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// snapshotEtcd takes a snapshot before the first write of a run and before a stage
// that has one of its own, where the operator wants it. The object has changed then, so the stage is planned again.
func (r *run) snapshotEtcd(ctx context.Context) (err error) {
	t := r.transition
	if !r.EtcdSnapshot || r.snapshot && !(stages.Named(t.Step.Stage.Name).Snapshot && t.Edits()) {
		return nil
	}
	r.snapshot = true
	r.note("taking a snapshot of etcd")
	switch by := r.Planner.Format.Live.Snapshot.(type) {
	case transform.SnapshotByCluster:
		err = r.askForSnapshot(ctx, by)
	case transform.SnapshotByObject:
		err = r.backup(ctx, by)
	default:
		return nil
	}
	if err == nil {
		r.transition, err = r.planned(ctx, t.Step.Stage.Name)
	}
	return err
}

// askForSnapshot asks Rancher by the cluster's object.
func (r *run) askForSnapshot(ctx context.Context, ask transform.SnapshotByCluster) error {
	var number int64
	asked := func(ctx context.Context) (c change, err error) {
		if c.before, err = r.read(ctx); err == nil {
			c.after, number, err = ask(c.before)
		}
		return c, err
	}
	c, err := asked(ctx)
	if err != nil {
		return err
	}
	if err := r.patch(ctx, actSnapshot, c, asked, func(transition.Edit) {}); err != nil {
		return err
	}
	failed := failures{}
	return r.await(ctx, func(ctx context.Context) (condition, error) {
		seen, err := r.Server.Rollout(ctx, r.Object)
		if err != nil {
			return condition{}, err
		}
		failed.note(seen.Tries(), r.note)
		taken, err := transition.SnapshotTaken(seen, number)
		return condition{done: taken, waiting: "Rancher has not created the etcd snapshot yet"}, err
	})
}

// backup makes an object of its own, as Rancher's own button does.
func (r *run) backup(ctx context.Context, by transform.SnapshotByObject) error {
	now, err := r.Server.Get(ctx, r.Object)
	if err != nil {
		return err
	}
	o := Ref{Server: local, Kind: by.Kind, Namespace: r.Object.Home(), Name: r.Object.ID + "-rke-lm-" + strings.ToLower(uuid.NewString()[:8])}
	body, err := by.Make(now.Raw, r.Object.ID, r.Object.UID, o.Name)
	if err != nil {
		return err
	}
	err = r.write(ctx, actSnapshot, o, sum(body), func(ctx context.Context) error {
		_, err := r.request(ctx, o, kube.Request{Method: http.MethodPost, Body: body})
		if kube.Exists(err) { // the name is unique, so an earlier try has made it
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.await(ctx, func(ctx context.Context) (condition, error) {
		a, err := r.request(ctx, o, kube.Request{Method: http.MethodGet})
		if err != nil {
			return condition{}, err
		}
		waiting, err := by.Taken(a.Body)
		return condition{done: waiting == "" && err == nil, waiting: waiting}, err
	})
}
