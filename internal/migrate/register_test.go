// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/transition"
)

// stubbed is a cluster past 1.26 whose last Node was initialized by RKE2's stub, with pods.
func stubbed(t *testing.T) *world {
	t.Helper()
	w := past126(t, func(n *corev1.Node) { n.Spec.ProviderID = "rke2://" + n.Name })
	w.Infrastructure(t)
	w.Run("web-0", "ReplicaSet")
	w.Run("web-1", "ReplicaSet")
	w.Run("log", "DaemonSet")
	return w
}

// restart restarts the last machine, which registers again.
func (w *world) restart(_ context.Context, m transition.KubeletRestart) error {
	w.asked = append(w.asked, m)
	w.Register(m.Node, m.Address)
	return nil
}

// unreachable is a machine that cannot be restarted.
func unreachable(_ *world, o *migrate.Options) {
	o.Restart = func(context.Context, transition.KubeletRestart) error { return errors.New("no route to the machine") }
}

// lastNode is the Node of the last machine.
func (w *world) lastNode() (last corev1.Node) {
	w.API.Do(func() { last = w.API.Nodes[len(w.API.Nodes)-1] })
	return last
}

func TestANodeOfTheStubIsDrainedDeletedAndRegistersAgain(t *testing.T) {
	on(t, stubbed, func(t *testing.T, w *world) {
		w.Budget(2)
		name := w.lastNode().Name
		assert.NilError(t, w.does(t, "one", migrate.Forward, restarting))
		want := transition.KubeletRestart{Node: name, Address: "10.0.0.4", Command: "systemctl restart rke2-agent"}
		assert.EqualSlices(t, w.asked, []transition.KubeletRestart{want}, "restarted")
		n := w.lastNode()
		assert.Truef(t, n.Name == name && strings.HasPrefix(n.Spec.ProviderID, "aws:///") && !n.Spec.Unschedulable, "%s has %q, cordoned: %v", n.Name, n.Spec.ProviderID, n.Spec.Unschedulable)
		w.API.Do(func() {
			for _, p := range w.API.Pods {
				assert.Truef(t, !strings.HasPrefix(p.Name, "web-"), "%s was not evicted", p.Name)
			}
		})
		for _, write := range []string{"/api/v1/nodes/" + name, "/pods/web-1/eviction", "/amazonec2machines/orchard-servers-3"} {
			assert.Truef(t, w.Has(write), "%s is missing in %v", write, w.Writes())
		}
		err := w.does(t, "two", migrate.Forward, restarting)
		assert.Truef(t, err == nil && len(w.asked) == 1, "a second run restarts %d machines: %v", len(w.asked), err)
	})
}

// The answer to the deletion gets lost, and the Node that the second request finds is another one.
func TestANodeThatRegistersAtOnceIsNoNodeThatCannotBeDeleted(t *testing.T) {
	on(t, stubbed, func(t *testing.T, w *world) {
		name, lost := w.lastNode().Name, false
		for id, api := range w.Rancher.Downstream {
			w.Rancher.Downstream[id] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				api.ServeHTTP(rw, r)
				if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/nodes/"+name) && !lost {
					lost = true
					w.Register(name, "10.0.0.4")
					panic(http.ErrAbortHandler)
				}
			})
		}
		err := w.does(t, "one", migrate.Forward, restarting)
		assert.Must(t, err == nil && lost, lost, err)
		n := w.lastNode()
		assert.Truef(t, strings.HasPrefix(n.Spec.ProviderID, "aws:///") && n.UID == "another", "%s has %q", n.Name, n.Spec.ProviderID)
	})
}

func TestARegistrationStops(t *testing.T) {
	for name, c := range map[string]struct {
		prepare choices
		want    string
	}{
		"at a pod that nothing makes again": {
			func(w *world, _ *migrate.Options) { w.Run("alone", "") }, "no controller makes the pod default/alone again",
		},
		"where the command fails": {
			unreachable, "no route to the machine",
		},
		"where the machine does not come back": {
			func(_ *world, o *migrate.Options) {
				o.Restart = func(context.Context, transition.KubeletRestart) error { return nil }
			}, "has not registered again yet",
		},
		"where a budget never allows an eviction": {
			func(w *world, _ *migrate.Options) { w.Budget(1 << 20) }, "a PodDisruptionBudget does not allow the eviction of default/web-",
		},
		"where the object of the machine cannot be written": {
			func(w *world, _ *migrate.Options) {
				w.Rancher.Remove("/apis/rke-machine.cattle.io/v1/namespaces/fleet-default/amazonec2machines/orchard-servers-3")
			}, "patch Amazonec2Machine.v1.rke-machine.cattle.io/orchard-servers-3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			on(t, stubbed, func(t *testing.T, w *world) {
				err := w.does(t, "one", migrate.Forward, restarting, c.prepare)
				assert.True(t, transform.ExitCodeOf(err) == transform.ExitFailed && strings.Contains(fmt.Sprint(err), c.want), err)
				assert.EqualSlices(t, w.Cordoned(), nil, "still cordoned")
			})
		})
	}
}

// A pool with unhealthyNodeTimeout replaces the machine as soon as its Node is deleted.
func TestAMachineThatIsReplacedDoesNotRegisterAgain(t *testing.T) {
	on(t, stubbed, func(t *testing.T, w *world) {
		err := w.does(t, "one", migrate.Forward, restarting, func(_ *world, o *migrate.Options) {
			o.Restart = func(_ context.Context, m transition.KubeletRestart) error {
				w.asked = append(w.asked, m)
				w.Replace()
				return nil
			}
		})
		assert.Truef(t, err == nil && len(w.asked) == 1, "%v, restarted: %v", err, w.asked)
	})
}

func TestADeletedNodeIsNotForgotten(t *testing.T) {
	on(t, stubbed, func(t *testing.T, w *world) {
		assert.Must(t, w.does(t, "one", migrate.Forward, restarting, unreachable) != nil, "the machine restarted")
		err := w.late(t, "two")
		assert.Truef(t, transform.ExitCodeOf(err) == transform.ExitFailed && strings.Contains(fmt.Sprint(err), "was deleted, and its machine has not registered it again") && strings.Contains(fmt.Sprint(err), "systemctl restart rke2-agent"), "without the command: %v", err)
		assert.NilError(t, w.does(t, "three", migrate.Forward, restarting))
		assert.Equal(t, len(w.asked), 1, "restarted")
	})
}

func TestTwoControlPlanesAreNeverDownAtOnce(t *testing.T) {
	plane := func(name, ready string) observed.Node {
		return observed.Node{Name: name, Labels: map[string]string{"node-role.kubernetes.io/control-plane": "true"}, Ready: &observed.Condition{Status: ready}}
	}
	nodes := []observed.Node{plane("a", "True"), plane("b", "False"), plane("c", "True")}
	assert.Equal(t, transition.Others(nodes, nodes[0]), "b", "a waits for")
	assert.Equal(t, transition.Others(nodes, nodes[1]), "", "b waits for")
}

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
