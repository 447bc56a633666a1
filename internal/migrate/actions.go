// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/route"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// ManualRequired means that a stage has a command that rke-lm does not run.
type ManualRequired struct {
	Stage, Command, Why string
}

func (b *ManualRequired) Error() string {
	return fmt.Sprintf("%s; run it, and then this command again with --manual-done %s:\n  %s", b.Why, b.Stage, b.Command)
}

// actions carries actions out, one after the other.
func (r *run) actions(ctx context.Context, t route.Transition, list []transform.Action) error {
	for _, a := range list {
		if err := r.action(ctx, t, a); err != nil {
			return err
		}
	}
	return nil
}

// action carries an action out: what changes something is done, what is waited for is
// waited for. What is only looked at is part of the check after the stage.
func (r *run) action(ctx context.Context, t route.Transition, a transform.Action) error {
	switch a := a.(type) {
	case transform.ClusterSettled, transform.ClusterUpdated:
		return r.settle(ctx)
	case stages.Inspection, transform.HelmValues:
		return nil
	case transform.Gone:
		return r.gone(ctx, a)
	case transform.Cordon:
		return r.cordon.cordonNodes(ctx, a)
	case transform.Uncordon:
		return r.cordon.uncordonNodes(ctx)
	case transform.InitializeNodes:
		return r.initialize(ctx)
	case transform.RegisterNodes:
		return r.register(ctx)
	}
	if slices.Contains(r.Planner.Target.ManualDone, t.Stage) {
		return nil
	}
	return r.change(ctx, t, a)
}

// change carries out an action that brings something to a cluster, or takes it away.
func (r *run) change(ctx context.Context, t route.Transition, a transform.Action) error {
	switch a := a.(type) {
	case transform.ApplyFile:
		return r.applyFile(ctx, t, r.cluster.object.ID, a.File)
	case transform.ApplyConfigMap:
		return r.applyFile(ctx, t, local, a.File)
	case transform.SecretFromFile:
		text, err := fileOf(t, a.File)
		if err != nil {
			return err
		}
		return r.writer.applySecret(ctx, Ref{Server: r.cluster.object.ID, Kind: "Secret", Namespace: a.Namespace, Name: a.Name}, a.Key, []byte(text))
	case transform.CopySecret:
		return r.writer.copySecret(ctx, a)
	case transform.Delete:
		return r.writer.deleteKinds(ctx, a.Namespace, a.Kinds, a.Name)
	case transform.DeleteObject:
		return r.writer.deleteKinds(ctx, a.Namespace, a.Kind, a.Name)
	case transform.HelmUpgrade:
		return r.helm.upgrade(ctx, t, a)
	case transform.HelmUninstall:
		return r.helm.uninstall(ctx, t, a)
	}
	return &ManualRequired{t.Stage, a.Command(), "the stage " + t.Stage + " has a command for the machines themselves, which rke-lm does not reach"}
}

func (r *run) applyFile(ctx context.Context, t route.Transition, server, name string) error {
	text, err := fileOf(t, name)
	if err != nil {
		return err
	}
	return r.writer.applyText(ctx, server, text)
}

// fileOf returns what a plan folder would hold.
func fileOf(t route.Transition, name string) (string, error) {
	text, there := t.Files[name]
	if !there {
		return "", fmt.Errorf("the stage %s names the file %s and does not make it; this is an error of rke-lm, please report it", t.Stage, name)
	}
	return text, nil
}

// gone waits until objects have left the cluster with their manifest.
func (r *run) gone(ctx context.Context, a transform.Gone) error {
	return r.await(ctx, func(ctx context.Context) (look, error) {
		left, err := r.cluster.existing(ctx, a.Namespace, a.Kinds, a.Name)
		if err != nil || len(left) == 0 {
			return look{done: true}, err
		}
		o := left[0]
		return look{waiting: "the " + o.String() + " is still in the cluster; if it stays, delete it: " + transform.DeleteObject{Namespace: o.Namespace, Kind: o.Kind, Name: o.Name}.Command()}, nil
	})
}
