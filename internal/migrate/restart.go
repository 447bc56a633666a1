// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/rke-lm/rke-lm/transform/live/route"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// RestartCommand is a user's command that restarts the kubelet of a machine.
type RestartCommand string

// Restart runs it for a machine.
func (command RestartCommand) Restart(ctx context.Context, m route.KubeletRestart) error {
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
