// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"slices"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/transition"
)

// manualRequired means that a stage has a command that rke-lm does not run.
func manualRequired(t transition.Transition, a action.Action, why string) error {
	return fmt.Errorf("%s; run it, and then this command again with --manual-done %s:\n  %s", why, t.Stage, a.Command)
}

// actions carries actions out, one after the other.
func (r *run) actions(ctx context.Context, t transition.Transition, list []action.Action) error {
	for _, a := range list {
		if err := r.action(ctx, t, a); err != nil {
			return err
		}
	}
	return nil
}

// action carries an action out: what changes something is done, what is waited for is
// waited for. What is only looked at is part of the check after the stage.
func (r *run) action(ctx context.Context, t transition.Transition, a action.Action) error {
	if a.Shows && a.Op == nil {
		return nil
	}
	switch op := a.Op.(type) {
	case action.Settle:
		return r.settle(ctx)
	case action.HelmValues:
		return nil
	case action.Gone:
		return r.removed(ctx, op)
	case action.Cordon:
		return r.cordon.cordonNodes(ctx, op)
	case action.Uncordon:
		return r.cordon.uncordonNodes(ctx)
	case action.Initialize:
		return r.initialize(ctx)
	case action.Register:
		return r.register(ctx)
	}
	if slices.Contains(r.cluster.planner.Target.ManualDone, t.Stage) {
		return nil
	}
	return r.change(ctx, t, a)
}

// change carries out an action that brings something to a cluster, or takes it away.
func (r *run) change(ctx context.Context, t transition.Transition, a action.Action) error {
	switch op := a.Op.(type) {
	case action.Apply:
		text, err := fileOf(t, op.File)
		if err != nil {
			return err
		}
		server := r.cluster.object.ID
		if op.Rancher {
			server = local
		}
		return r.writer.applyText(ctx, server, text)
	case action.SecretFromFile:
		text, err := fileOf(t, op.File)
		if err != nil {
			return err
		}
		return r.writer.applySecret(ctx, op.Namespace, op.Name, op.Key, []byte(text))
	case action.CopySecret:
		return r.writer.copySecret(ctx, op)
	case action.Delete:
		return r.writer.deleteKinds(ctx, op.Namespace, op.Kinds, op.Name)
	case action.HelmUpgrade:
		return r.helm.upgrade(ctx, t, a, op)
	case action.HelmUninstall:
		return r.helm.uninstall(ctx, t, a, op)
	}
	return manualRequired(t, a, "the stage "+t.Stage+" has a command for the machines themselves, which rke-lm does not reach")
}

// fileOf returns what a plan folder would hold.
func fileOf(t transition.Transition, name string) (string, error) {
	text, there := t.Files[name]
	if !there {
		return "", fmt.Errorf("the stage %s names the file %s and does not make it; this is an error of rke-lm, please report it", t.Stage, name)
	}
	return text, nil
}

// removed waits until objects have left the cluster with their manifest.
func (r *run) removed(ctx context.Context, gone action.Gone) error {
	return r.await(ctx, func(ctx context.Context) (condition, error) {
		left, err := r.cluster.existing(ctx, gone.Namespace, gone.Kinds, gone.Name)
		if err != nil || len(left) == 0 {
			return condition{done: true}, err
		}
		o := left[0]
		return condition{waiting: "the " + o.String() + " is still in the cluster; if it stays, delete it: " + action.DeleteObject(o.Namespace, o.Kind, o.Name).Command}, nil
	})
}
