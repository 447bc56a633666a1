// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// nodeActionRequired says what a person does for one Node before the run can continue; the command is "" if it
// must not be done. The run sees by itself that it was done.
func nodeActionRequired(why, command string) error {
	if command == "" {
		return transform.NewError(transform.ExitRefused, why)
	}
	return transform.NewError(transform.ExitFailed, why+"; then run this command again:\n  "+command)
}

// initialize has the cloud-controller-manager initialize the Nodes without a provider ID
// whose names prove their instances, and waits until they have one.
func (r *run) initialize(ctx context.Context) error {
	seen, err := r.observer.Observe(ctx)
	if err != nil {
		return err
	}
	u := transition.Identify(seen.Nodes)
	for _, name := range u.Proven {
		if err := r.cordon.change(ctx, actTaint, name, transition.Uninitialize); err != nil {
			return err
		}
	}
	err = r.awaitSeen(ctx, func(seen *observed.Observation) (condition, error) {
		left := transition.Identify(seen.Nodes).Proven
		return condition{done: len(left) == 0, waiting: "the cloud-controller-manager has not set the provider ID of " + strings.Join(left, ", ") + ": check its log for the name of the Node"}, nil
	})
	if err != nil || len(u.Unproven) == 0 {
		return err
	}
	return nodeActionRequired("the name of the node "+u.Unproven[0]+" does not prove its instance, and a provider ID never changes: set it from the metadata of its own instance",
		aws.IdentifyManually(u.Unproven[0]))
}

// RestartCommand is a user's command that restarts the kubelet of a machine.
type RestartCommand string

// Restart runs it for a machine.
func (command RestartCommand) Restart(ctx context.Context, m transition.KubeletRestart) error {
	c := exec.CommandContext(ctx, "sh", "-c", string(command))
	c.Env = append(os.Environ(), "NODE="+m.Node, "ADDRESS="+m.Address, "COMMAND="+m.Command)
	printed, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("--restart-command for the node %s: %w%s", m.Node, err, lastLines(printed))
	}
	return nil
}

// lastLines is the end of what a command printed, redacted.
func lastLines(printed []byte) string {
	const most = 5
	lines := strings.Split(strings.TrimSpace(string(printed)), "\n")
	text := strings.Join(lines[max(0, len(lines)-most):], "; ")
	if text == "" {
		return ""
	}
	return ": " + redact.Text(text)
}
