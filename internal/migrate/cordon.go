// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// cordon cordons Nodes for the switch, and uncordons those that a run over this cluster
// cordoned, and no others.
type cordon struct {
	*run
	mark    string          // on the Nodes that a run over this cluster cordons
	mayHold bool            // this run may have left Nodes cordoned
	foreign map[string]bool // Nodes that were cordoned before the run, and not by one
}

// cordonNodes cordons the Nodes that are not cordoned yet, and marks them.
func (c *cordon) cordonNodes(ctx context.Context, a action.Cordon) error {
	names, err := c.cluster.nodeNames(ctx, a.Selector, func(n *corev1.Node) bool { return !n.Spec.Unschedulable })
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := c.cordonNode(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// cordonNode cordons a Node, and marks it.
func (c *cordon) cordonNode(ctx context.Context, name string) error {
	c.mayHold = true
	return c.change(ctx, actCordon, name, func(n *yamledit.Document) (*yamledit.Document, error) { return transition.Cordon(n, c.mark) })
}

// uncordonNodes uncordons the Nodes that a run over this cluster cordoned, and no
// other ones. One that cannot be uncordoned keeps none of the others.
func (c *cordon) uncordonNodes(ctx context.Context) error {
	names, err := c.cluster.nodeNames(ctx, "", func(n *corev1.Node) bool { return n.Annotations[action.CordonAnnotation] == c.mark })
	if err != nil {
		return err
	}
	for _, name := range names {
		err = errors.Join(err, c.change(ctx, actRelease, name, func(n *yamledit.Document) (*yamledit.Document, error) { return transition.Release(n, c.mark) }))
		if ctx.Err() != nil {
			break
		}
	}
	c.mayHold = c.mayHold && err != nil
	return err
}

// errMoved means that a Node changed since it was read, again and again.
var errMoved = errors.New("the node changes all the time; run the command again")

// nodeTries is how often a Node is read again that others write as well.
const nodeTries = 10

// change changes a Node by a patch that fits only the version that was read.
func (c *cordon) change(ctx context.Context, act, name string, edit func(*yamledit.Document) (*yamledit.Document, error)) error {
	for range nodeTries {
		before, err := c.cluster.node(ctx, name)
		if err != nil || before == nil {
			return err
		}
		after, err := edit(before)
		if err != nil {
			return err
		}
		p, err := jsonpatch.Diff(before.Bytes(), after.Bytes())
		if err != nil || len(p) == 0 {
			return err
		}
		err = c.writer.write(ctx, write{act: act, object: c.cluster.own("Node", "", name), digest: p.Digest(), do: func(ctx context.Context) error {
			return c.cluster.patchNode(ctx, name, p)
		}})
		if !kube.HasStatus(err, http.StatusUnprocessableEntity, http.StatusConflict) {
			return err
		}
	}
	return errMoved
}

// noteForeign remembers which Nodes were cordoned before, and not by a run.
func (c *cordon) noteForeign(seen *observed.Observation) {
	c.foreign = map[string]bool{}
	for _, n := range seen.Nodes {
		if n.Unschedulable && n.Cordoned != c.mark {
			c.foreign[n.Name] = true
		}
	}
}

// noteReleased reports which of them are cordoned no more: RKE releases every Node at
// the end of its run.
func (c *cordon) noteReleased(seen *observed.Observation) {
	for _, n := range seen.Nodes {
		if c.foreign[n.Name] && !n.Unschedulable {
			delete(c.foreign, n.Name)
			c.note("the node " + n.Name + " was cordoned before the run, and was uncordoned since, as RKE does: cordon it again if it must stay cordoned")
		}
	}
}
