// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"strings"

	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/live/route"
)

// NodeActionRequired says what a person does for one Node before the run can continue. The run sees
// by itself that it was done.
type NodeActionRequired struct {
	Why     string
	Command string // "" if it must not be done
}

func (o *NodeActionRequired) Error() string {
	if o.Command == "" {
		return o.Why
	}
	return o.Why + "; then run this command again:\n  " + o.Command
}

// ExitCode distinguishes what must not be done from what is left to do.
func (o *NodeActionRequired) ExitCode() exitcode.Code {
	if o.Command == "" {
		return exitcode.Refused
	}
	return exitcode.Failed
}

// initialize has the cloud-controller-manager initialize the Nodes without a provider ID
// whose names prove their instances, and waits until they have one.
func (r *run) initialize(ctx context.Context) error {
	seen, err := r.cluster.observer.Look(ctx)
	if err != nil {
		return err
	}
	u := route.Identify(seen.Nodes)
	for _, name := range u.Proven {
		if err := r.cordon.change(ctx, actTaint, name, route.Uninitialize); err != nil {
			return err
		}
	}
	err = r.awaitSeen(ctx, func(seen *observed) (look, error) {
		left := route.Identify(seen.Nodes).Proven
		return look{done: len(left) == 0, waiting: "the cloud-controller-manager has not set the provider ID of " + strings.Join(left, ", ") + ": check its log for the name of the Node"}, nil
	})
	if err != nil || len(u.Unproven) == 0 {
		return err
	}
	return &NodeActionRequired{
		Why:     "the name of the node " + u.Unproven[0] + " does not prove its instance, and a provider ID never changes: set it from the metadata of its own instance",
		Command: route.IdentifyByHand(u.Unproven[0]),
	}
}
