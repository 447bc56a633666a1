// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/route"
)

// ByHand says that a stage has a command that rke-lm does not run.
type ByHand struct {
	Stage, Command, Why string
}

func (b *ByHand) Error() string {
	return fmt.Sprintf("%s; run it, and then this command again with --by-hand %s:\n  %s", b.Why, b.Stage, b.Command)
}

// do carries an action out: what changes something is done, what is waited for is
// waited for. What is only looked at is part of the check behind the stage.
func (r *Run) do(ctx context.Context, l route.Transition, a transform.Action) error {
	switch a := a.(type) {
	case transform.ClusterSettled, transform.ClusterUpdated:
		return r.settle(ctx)
	case transform.RolloutDone, transform.Desired, transform.LeaseHolder, transform.MayLock, transform.ProviderIDs:
		return nil
	case transform.Gone:
		return r.gone(ctx, a)
	case transform.Cordon:
		return r.cordonAll(ctx, a)
	case transform.Uncordon:
		return r.releaseAll(ctx)
	}
	if slices.Contains(r.ByHand, l.Stage) {
		return nil
	}
	return r.change(ctx, l, a)
}

// change carries out an action that brings something to a cluster, or takes it away.
func (r *Run) change(ctx context.Context, l route.Transition, a transform.Action) error {
	switch a := a.(type) {
	case transform.ApplyFile:
		return r.applyFile(ctx, l, r.Object.ID, a.File)
	case transform.ApplyConfigMap:
		return r.applyFile(ctx, l, local, a.File)
	case transform.SecretFromFile:
		text, err := fileOf(l, a.File)
		if err != nil {
			return err
		}
		return r.applySecret(ctx, Ref{Server: r.Object.ID, Kind: "Secret", Namespace: a.Namespace, Name: a.Name}, a.Key, []byte(text))
	case transform.CopySecret:
		return r.copySecret(ctx, a)
	case transform.Delete:
		return r.deleteAll(ctx, a.Namespace, a.Kinds, a.Name)
	case transform.DeleteObject:
		return r.deleteAll(ctx, a.Namespace, a.Kind, a.Name)
	case transform.HelmUpgrade:
		return r.helmUpgrade(ctx, l, a)
	case transform.HelmUninstall:
		return r.helmUninstall(ctx, l, a)
	}
	return &ByHand{l.Stage, a.Command(), "the stage " + l.Stage + " has a command for the machines themselves, which rke-lm does not reach"}
}

func (r *Run) applyFile(ctx context.Context, l route.Transition, server, name string) error {
	text, err := fileOf(l, name)
	if err != nil {
		return err
	}
	return r.applyText(ctx, server, text)
}

// fileOf returns what a plan folder would hold.
func fileOf(l route.Transition, name string) (string, error) {
	text, there := l.Files[name]
	if !there {
		return "", fmt.Errorf("the stage %s names the file %s and does not make it; this is an error of rke-lm, please report it", l.Stage, name)
	}
	return text, nil
}
