// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/aws"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/deploy"
)

// Machine is one of a cluster, with its node.
type Machine struct {
	ranchertest.Machine
	Node, Pool string
	Joined

	instance aws.Instance
}

// Joined is how a machine came to its cluster, before anyone looks.
type Joined struct {
	Host string           // its host name; "" for the name of its instance
	With cluster.Provider // of its kubelet then
}

// inTree is how all machines joined that nothing else is said of.
var inTree = Joined{With: cluster.InTree}

// Downstream is a cluster that Rancher manages.
type Downstream struct {
	*cluster.Cluster
	ID       string // c-m-… or c-…
	Name     string
	Kubelets *agent.Kubelets
	Machines []Machine

	client kubernetes.Interface
	addons *deploy.Addons // of RKE
	rke2   *agent.RKE2
	marks  marks

	mu        sync.Mutex
	held      string // a machine that follows no plan
	failing   map[string]*faults
	configs   map[string]map[string]any // with which RKE2 runs, by machine
	unready   []string                  // Machines without their nodes
	snapshots int
}

// launch starts a cluster of a minor with its machines, on which nothing runs yet.
func (s *Server) launch(ctx context.Context, d *Downstream, minor string) error {
	c, err := cluster.Start(ctx, filepath.Join(s.dir, d.ID), minor, s.timing)
	if err != nil {
		return err
	}
	d.Cluster, d.configs = c, map[string]map[string]any{}
	s.mu.Lock()
	s.downstreams = append(s.downstreams, d)
	s.mu.Unlock()
	if d.client, err = c.Client(cluster.Admin); err != nil {
		return err
	}
	nodes := map[string]string{}
	for i := range d.Machines {
		m := &d.Machines[i]
		m.instance = c.AWS.Launch(i + 1)
		m.Node = m.instance.Name
		m.Host = cmp.Or(m.Host, m.instance.Name)
		if err := d.register(ctx, *m, m.Node, m.With); err != nil {
			return err
		}
		nodes[m.Node] = m.Name
	}
	if err := c.StartScheduler(ctx); err != nil {
		return err
	}
	if d.Kubelets, err = agent.NewKubelets(c, filepath.Join(c.Dir, "pods"), nodes); err != nil {
		return err
	}
	return s.admit(ctx, d.ID, c)
}

// Instances returns the machines as AWS knows them.
func (d *Downstream) Instances() []aws.Instance {
	var list []aws.Instance
	for _, m := range d.Machines {
		list = append(list, m.instance)
	}
	return list
}

func (d *Downstream) stop() {
	if d.rke2 != nil {
		d.rke2.Stop()
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

// Suspend makes a machine follow no plan, and its node not ready, until Release.
func (d *Downstream) Suspend(ctx context.Context, machine string) error {
	return d.setPaused(ctx, machine, corev1.ConditionFalse)
}

// Release lets a machine follow again.
func (d *Downstream) Release(ctx context.Context) error {
	return d.setPaused(ctx, "", corev1.ConditionTrue)
}

func (d *Downstream) setPaused(ctx context.Context, machine string, ready corev1.ConditionStatus) error {
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

func (d *Downstream) isSuspended(machine string) bool {
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
