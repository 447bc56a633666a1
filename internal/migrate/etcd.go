// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform/live/route"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// snapshotEtcd takes a snapshot before the first write of a run and before the
// switch, where the operator wants it. It reports whether it did.
func (r *Run) snapshotEtcd(ctx context.Context, l route.Transition) (bool, error) {
	atSwitch := l.Stage == stages.SwitchToExternal && l.Edits()
	if !r.Etcd || r.snapped && !atSwitch {
		return false, nil
	}
	r.snapped = true
	r.note("taking a snapshot of etcd")
	if r.Object.Distro == rancher.RKE1 {
		return true, r.backup(ctx)
	}
	return true, r.askForSnapshot(ctx)
}

// askForSnapshot asks Rancher by the object of an RKE2 cluster.
func (r *Run) askForSnapshot(ctx context.Context) error {
	doc, err := parse(r.Object)
	if err != nil {
		return err
	}
	after, number, err := route.AskForSnapshot(doc)
	if err != nil {
		return err
	}
	again := func(ctx context.Context) (version, error) {
		if r.Object, err = r.Server.Get(ctx, r.Object); err != nil {
			return version{}, err
		}
		doc, err := parse(r.Object)
		if err != nil {
			return version{}, err
		}
		after, _, err := route.AskForSnapshot(doc)
		return version{doc, after}, err
	}
	if err := r.patch(ctx, actSnapshot, version{doc, after}, again, func(route.Edit) {}); err != nil {
		return err
	}
	failed := failures{}
	return r.await(ctx, func(ctx context.Context) (state, error) {
		seen, err := r.Server.Rollout(ctx, r.Object)
		if err != nil {
			return state{}, err
		}
		failed.note(seen.Tries(), r.note)
		taken, err := route.SnapshotTaken(seen, number)
		return state{done: taken, waiting: "Rancher has not made the snapshot of etcd yet"}, err
	})
}

// backup makes an EtcdBackup, as Rancher's own button does.
func (r *Run) backup(ctx context.Context) error {
	now, err := r.Server.Get(ctx, r.Object)
	if err != nil {
		return err
	}
	o := Ref{Server: local, Kind: "EtcdBackup", Namespace: r.Object.Home(), Name: r.Object.ID + "-rke-lm-" + strings.ToLower(uuid.NewString()[:8])}
	body, err := route.Backup(now.Raw, r.Object.ID, r.Object.UID, o.Name)
	if err != nil {
		return err
	}
	err = r.write(ctx, write{act: actSnapshot, object: o, digest: sum(body), do: func(ctx context.Context) error { return r.create(ctx, o, body) }})
	if err != nil {
		return err
	}
	return r.await(ctx, func(ctx context.Context) (state, error) {
		a, err := r.request(ctx, o, kube.Request{Method: http.MethodGet})
		if err != nil {
			return state{}, err
		}
		waiting, err := route.BackupTaken(a.Body)
		return state{done: waiting == "" && err == nil, waiting: waiting}, err
	})
}

// create makes an object whose name nobody else has: one that is there is that of an
// earlier try.
func (r *Run) create(ctx context.Context, o Ref, body []byte) error {
	path, err := pathOf(o)
	if err != nil {
		return err
	}
	err = r.pastGate(ctx, o, path, func() error {
		_, err := r.client(o.Server).Do(ctx, kube.Request{What: "create " + strings.ToLower(o.Kind) + "s", Method: http.MethodPost, Path: strings.TrimSuffix(path, "/"+o.Name), Body: body, Accept: "application/json"})
		return err
	})
	if kube.HasStatus(err, http.StatusConflict) {
		return nil
	}
	return kube.Refusal(err)
}
