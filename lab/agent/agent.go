// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/deploy"
)

// Agent runs the managers of a cluster's control planes.
type Agent struct {
	// Backoff is the pause before a manager that has ended is started again.
	Backoff time.Duration
	// Pause is the time between a machine that has followed and the next one.
	Pause time.Duration
	// Follow is called when a machine has followed a change of the files.
	Follow func(machine string)

	cluster  *cluster.Cluster
	machines []string

	mu      sync.Mutex
	keepers map[slot]*keeper
}

// slot is where one manager runs.
type slot struct {
	machine   string
	component cluster.Component
}

// New returns an agent for control planes of the given names. It ends with the context.
func New(c *cluster.Cluster, machines ...string) *Agent {
	return &Agent{Backoff: time.Second, cluster: c, machines: machines, keepers: map[slot]*keeper{}}
}

// RollOut makes the machines follow the files: first the manifests, which need no restart, then the
// DaemonSet node by node, then the components of the machines, one machine at a time.
func (a *Agent) RollOut(ctx context.Context, w Wanted) error {
	write, err := deploy.NewApplier(a.cluster.Config(cluster.Admin))
	if err != nil {
		return err
	}
	if err := applyAll(ctx, write, w); err != nil {
		return err
	}
	for _, component := range []cluster.Component{cluster.CCM, cluster.KCM} {
		for _, machine := range a.machines {
			if err := a.follow(ctx, w, slot{machine, component}); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow replaces a manager whose arguments have changed, and waits until the new one is healthy.
func (a *Agent) follow(ctx context.Context, w Wanted, at slot) error {
	specs := w.specs(at.machine)
	i := slices.IndexFunc(specs, func(s cluster.Spec) bool { return s.Component == at.component })
	a.mu.Lock()
	old := a.keepers[at]
	a.mu.Unlock()
	if old != nil && i >= 0 && old.runs(specs[i]) {
		return nil
	}
	if old != nil {
		old.end((*cluster.Manager).Stop)
	}
	if i < 0 {
		a.set(at, nil)
		return nil
	}
	k := &keeper{cluster: a.cluster, spec: specs[i], backoff: a.Backoff, ended: make(chan struct{})}
	if err := k.start(ctx); err != nil {
		return err
	}
	a.set(at, k)
	if err := k.awaitHealth(ctx); err != nil {
		return err
	}
	if a.Follow != nil {
		a.Follow(at.machine)
	}
	kube.Pause(ctx, a.Pause)
	return ctx.Err()
}

func (a *Agent) set(at slot, k *keeper) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keepers[at] = k
	if k == nil {
		delete(a.keepers, at)
	}
}

// Restarts returns how often managers of a component had to be started again after they had ended by
// themselves.
func (a *Agent) Restarts(component cluster.Component) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for at, k := range a.keepers {
		if at.component == component {
			n += k.restarts()
		}
	}
	return n
}

// Container is a manager as the kubelet of its machine knows it.
type Container struct {
	*cluster.Manager
	Restarts int       // by themselves, since the files last changed
	Last     time.Time // when it last ended; zero for never
}

// Containers returns what the kubelets keep running now.
func (a *Agent) Containers() []Container {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []Container
	for _, k := range a.keepers {
		list = append(list, k.container())
	}
	return list
}

// Lose ends the managers of a machine at once and for good, as when the machine is lost. Later changes pass
// it by.
func (a *Agent) Lose(machine string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.machines = slices.DeleteFunc(slices.Clone(a.machines), func(m string) bool { return m == machine })
	for at, k := range a.keepers {
		if at.machine == machine {
			k.end((*cluster.Manager).Kill)
			delete(a.keepers, at)
		}
	}
}

// Stop ends all managers, and keeps them ended.
func (a *Agent) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for at, k := range a.keepers {
		k.end((*cluster.Manager).Stop)
		delete(a.keepers, at)
	}
}
