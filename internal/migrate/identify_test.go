// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/transition"
)

// past126 is a cluster that runs without a cloud provider; change changes its last Node.
func past126(t *testing.T, change func(*corev1.Node)) *world {
	t.Helper()
	return &world{World: migratetest.NewRKE2Past126(t, func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.4"}}
		change(n)
	})}
}

// late migrates it with the usual choices.
func (w *world) late(t *testing.T, agent string, with ...choices) error {
	t.Helper()
	return w.does(t, agent, migrate.Forward, append([]choices{targeting(transform.Target{})}, with...)...)
}

func TestANodeThatNeedsItsMachineStopsTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Node)
		code   int
		says   []string
	}{
		"a name that proves nothing": {
			func(n *corev1.Node) { n.Status.Addresses[0].Address = "10.9.9.9" }, transform.ExitFailed,
			[]string{"does not prove its instance", "169.254.169.254", "placement/availability-zone"},
		},
		"a worker of the stub": {
			func(n *corev1.Node) { n.Spec.ProviderID = "rke2://" + n.Name }, transform.ExitFailed,
			[]string{"which never changes: register it again", "kubectl drain", "kubectl delete node", "systemctl restart rke2-agent"},
		},
		"an etcd member of the stub, of one": {
			func(n *corev1.Node) {
				n.Spec.ProviderID = "rke2://" + n.Name
				n.Labels = map[string]string{"node-role.kubernetes.io/etcd": "true"}
			}, transform.ExitRefused, []string{"one of 1 etcd members", "etcd would lose its quorum", "take a snapshot of etcd"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := past126(t, c.change).late(t, "one")
				assert.Mustf(t, err != nil && transform.ExitCodeOf(err) == c.code, "exit code %d: %v", transform.ExitCodeOf(err), err)
				assert.ContainsAll(t, fmt.Sprint(err), c.says)
			})
		})
	}
}

// Once the machine has registered its Node again, Rancher looks for it by the provider ID that it
// had before, until a person corrects that. Then the run continues by itself.
func TestTheRunContinuesAfterTheMachineRegisteredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var before corev1.Node
		w := past126(t, func(n *corev1.Node) {
			n.Spec.ProviderID = "rke2://" + n.Name
			before = *n
		})
		assert.Must(t, w.late(t, "one") != nil, "a Node of the stub is enough")
		w.API.Do(func() {
			fresh := migratetest.Registered(len(w.API.Nodes) - 1)
			fresh.Name, fresh.UID, fresh.Status.Addresses = before.Name, "another", before.Status.Addresses
			w.API.Nodes[len(w.API.Nodes)-1] = fresh
		})
		w.Notice()
		err := w.late(t, "two")
		const want = `kubectl -n fleet-default patch Amazonec2Machine.v1.rke-machine.cattle.io/orchard-servers-3 --type=merge -p '{"spec":{"providerID":"aws:///`
		assert.Must(t, err != nil && transform.ExitCodeOf(err) == transform.ExitFailed && strings.Contains(err.Error(), want), err)
		w.Relink()
		assert.NilError(t, w.late(t, "three"))
	})
}

func TestTheRestartCommandGetsTheMachine(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh on the PATH")
	}
	at := filepath.Join(t.TempDir(), "asked")
	t.Setenv("ASKED", at)
	m := transition.KubeletRestart{Node: "ip-10-0-1-5", Address: "10.0.1.5", Command: "systemctl restart rke2-agent"}
	assert.NilError(t, migrate.RestartCommand(`printf '%s|%s|%s' "$NODE" "$ADDRESS" "$COMMAND" > "$ASKED"`).Restart(t.Context(), m))
	assert.Equal(t, string(assert.Value(os.ReadFile(at))(t)), "ip-10-0-1-5|10.0.1.5|systemctl restart rke2-agent")
	err := migrate.RestartCommand(`echo "no route to $ADDRESS"; echo AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY1; exit 255`).Restart(t.Context(), m)
	text := fmt.Sprint(err)
	assert.True(t, strings.Contains(text, "--restart-command for the node ip-10-0-1-5: exit status 255: no route to 10.0.1.5") && !strings.Contains(text, "wJalr"), err)
}
