// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/deploy"
)

// Machine is one of a cluster, with its node.
type Machine struct {
	Name, Node                 string
	Pool                       string
	ControlPlane, Etcd, Worker bool
	Labels                     map[string]string // of the Machine, not of the node
}

// Downstream is a cluster that Rancher manages.
type Downstream struct {
	*cluster.Cluster
	ID       string // c-m-… or c-…
	Name     string
	Kubelets *agent.Kubelets
	Machines []Machine

	client kubernetes.Interface
	addons *deploy.Addons
	charts *deploy.Charts // RKE2's own

	mu        sync.Mutex
	held      string // a machine that follows no plan
	failing   map[string]*faults
	snapshots int
}

// downstream starts a cluster with its machines, on which nothing runs yet.
func (s *Server) downstream(ctx context.Context, id, name string, prune bool, machines []Machine) (*Downstream, error) {
	c, err := cluster.Start(ctx, filepath.Join(s.dir, id), s.timing)
	if err != nil {
		return nil, err
	}
	d := &Downstream{Cluster: c, ID: id, Name: name, Machines: machines}
	s.mu.Lock()
	s.downstreams = append(s.downstreams, d)
	s.mu.Unlock()
	if d.client, err = c.Client(cluster.Admin); err != nil {
		return nil, err
	}
	applier, err := deploy.NewApplier(c.Config(cluster.Admin))
	if err != nil {
		return nil, err
	}
	d.addons = deploy.NewAddons(applier, prune)
	nodes := map[string]string{}
	for i := range d.Machines {
		instance, err := c.Join(ctx, i+1, false)
		if err != nil {
			return nil, err
		}
		d.Machines[i].Node = instance.Name
		nodes[instance.Name] = d.Machines[i].Name
	}
	if err := c.StartScheduler(ctx); err != nil {
		return nil, err
	}
	if d.Kubelets, err = agent.NewKubelets(c, filepath.Join(c.Dir, "pods"), nodes); err != nil {
		return nil, err
	}
	return d, s.admit(ctx, id, c)
}

func (d *Downstream) stop() {
	if d.charts != nil {
		d.charts.Stop()
	}
	if d.Kubelets != nil {
		d.Kubelets.Stop()
	}
	d.Cluster.Stop()
}

// node changes the node of a machine.
func (d *Downstream) node(ctx context.Context, name string, change func(*corev1.Node)) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := d.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(node)
		_, err = d.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

// mark gives a machine's node the labels and taints of its roles: those of machines that are no workers
// keep other pods away.
func (d *Downstream) mark(ctx context.Context, m Machine, controlPlane, value, taint string) error {
	return d.node(ctx, m.Node, func(n *corev1.Node) {
		roles := map[string]bool{controlPlane: m.ControlPlane, "etcd": m.Etcd, "worker": m.Worker}
		for role, has := range roles {
			if has {
				n.Labels["node-role.kubernetes.io/"+role] = value
			}
		}
		if m.ControlPlane && !m.Worker {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "node-role.kubernetes.io/" + controlPlane, Value: taint, Effect: corev1.TaintEffectNoSchedule})
		}
		if m.Etcd && !m.Worker {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "node-role.kubernetes.io/etcd", Value: taint, Effect: corev1.TaintEffectNoExecute})
		}
	})
}

// Hold makes a machine follow no plan, and its node not ready, until Release.
func (d *Downstream) Hold(ctx context.Context, machine string) error {
	return d.hold(ctx, machine, corev1.ConditionFalse)
}

// Release lets a machine follow again.
func (d *Downstream) Release(ctx context.Context) error { return d.hold(ctx, "", corev1.ConditionTrue) }

func (d *Downstream) hold(ctx context.Context, machine string, ready corev1.ConditionStatus) error {
	d.mu.Lock()
	which := machine
	if which == "" {
		which = d.held
	}
	d.held = machine
	d.mu.Unlock()
	return d.SetReady(ctx, which, ready)
}

// SetReady lets the node of a machine say whether it is ready. The machine follows its plans as before.
func (d *Downstream) SetReady(ctx context.Context, machine string, ready corev1.ConditionStatus) error {
	i := slices.IndexFunc(d.Machines, func(m Machine) bool { return m.Name == machine })
	if i < 0 {
		return fmt.Errorf("rancher: no machine %q", machine)
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := d.client.CoreV1().Nodes().Get(ctx, d.Machines[i].Node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for i := range node.Status.Conditions {
			if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status != ready {
				c.Status, c.LastTransitionTime = ready, metav1.Now()
			}
		}
		_, err = d.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

// Stall makes a machine follow no plan, and "" all of them follow again. Its node stays as it is.
func (d *Downstream) Stall(machine string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = machine
}

func (d *Downstream) isHeld(machine string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held == machine
}

// Snapshots returns how many snapshots of etcd were taken.
func (d *Downstream) Snapshots() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.snapshots
}

func (d *Downstream) snapshotTaken() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.snapshots++
}

// suffix makes the part of a name that Rancher draws by lot.
func suffix(of string, length int) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:])[:length]
}
