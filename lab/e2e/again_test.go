// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
)

// With a command that restarts machines a run needs no person for a node of RKE2's own cloud controller: an API
// server of 1.34 evicts its pods, deletes it, and takes it again, and Rancher finds it by its new provider ID.
func TestMigrateRestartsTheMachineOfANodeThatRegistersAgain(t *testing.T) {
	t.Parallel()
	c := manage(t, func(s *rancher.Server) (*rancher.Downstream, error) {
		return s.AddRKE2(t.Context(), document(t, "rancher/names-only.yaml"), past[0], past[1],
			rancher.Joined{Host: "lab-worker-2", With: cluster.InTree}, rancher.Joined{With: cluster.Stub})
	})
	c.choice = nil // the stages keep the names
	before := c.providerIDs()
	c.least("migrate")
	c.rke("migrate", "--restart-command", c.restarts())

	c.identified()
	after := c.providerIDs()
	for name, id := range before {
		foreign := strings.HasPrefix(id, "rke2://")
		if now := after[name]; !strings.HasPrefix(now, "aws:///") || !foreign && now != id {
			t.Errorf("the node %s had the provider ID %q and has %q", name, id, now)
		}
	}
	if len(after) != len(before) {
		t.Errorf("the nodes were %v and are %v", before, after)
	}
	written := c.written()
	c.rke("migrate")
	if now := c.written(); fmt.Sprint(now) != fmt.Sprint(written) {
		t.Errorf("a second run wrote: %v, and before it %v", now, written)
	}
	c.audited()
	c.end("names-again")
}

// restarts returns a command line that has this test restart a machine: it asks with a file, and waits for the
// answer in another one.
func (c *managed) restarts() string {
	c.Helper()
	dir := c.TempDir()
	go func() {
		for c.Context().Err() == nil {
			asked, _ := filepath.Glob(filepath.Join(dir, "*.ask"))
			for _, file := range asked {
				c.restartFor(file)
			}
			time.Sleep(200 * time.Millisecond)
		}
	}()
	at := filepath.Join(dir, "$NODE")
	return fmt.Sprintf(`printf %%s "$COMMAND" > "%[1]s.new" && mv "%[1]s.new" "%[1]s.ask" && until [ -e "%[1]s.done" ]; do sleep 0.2; done && [ ! -s "%[1]s.done" ]`, at)
}

// restartFor answers one request; an answer with a text is a failure.
func (c *managed) restartFor(file string) {
	command, err := os.ReadFile(file)
	os.Remove(file)
	node := strings.TrimSuffix(filepath.Base(file), ".ask")
	service, found := strings.CutPrefix(string(command), "systemctl restart ")
	if err == nil && !found {
		err = fmt.Errorf("the command for %s is %q", node, command)
	}
	if err == nil {
		err = c.downstream.Restart(c.Context(), node, service)
	}
	answer := ""
	if err != nil {
		c.Errorf("%v", err)
		answer = err.Error()
	}
	at := strings.TrimSuffix(file, ".ask")
	if err := os.WriteFile(at+".tmp", []byte(answer), 0o600); err == nil {
		os.Rename(at+".tmp", at+".done")
	}
}
