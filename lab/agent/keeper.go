// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/lab/cluster"
)

// keeper keeps one manager running, as a kubelet does.
type keeper struct {
	cluster *cluster.Cluster
	spec    cluster.Spec
	backoff time.Duration
	cancel  context.CancelFunc
	ended   chan struct{}

	mu      sync.Mutex
	manager *cluster.Manager
	again   int
	last    time.Time // when the manager before this one ended
}

func (k *keeper) start(ctx context.Context) error {
	ctx, k.cancel = context.WithCancel(ctx)
	m, err := k.cluster.StartManager(ctx, k.spec)
	if err != nil {
		k.cancel()
		return err
	}
	k.manager = m
	go k.keep(ctx)
	return nil
}

// keep starts the manager again whenever it has ended. One that cannot be started is tried again.
func (k *keeper) keep(ctx context.Context) {
	defer close(k.ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.current().Ended():
		}
		if !kube.Pause(ctx, k.backoff) {
			return
		}
		m, err := k.cluster.StartManager(ctx, k.spec)
		if err != nil {
			continue
		}
		k.mu.Lock()
		k.last, _ = k.manager.EndedAt()
		k.manager, k.again = m, k.again+1
		k.mu.Unlock()
	}
}

func (k *keeper) current() *cluster.Manager {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.manager
}

func (k *keeper) restarts() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.again
}

func (k *keeper) container() Container {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := Container{Manager: k.manager, Restarts: k.again, Last: k.last}
	if ended, over := k.manager.EndedAt(); over {
		c.Last = ended
	}
	return c
}

func (k *keeper) runs(s cluster.Spec) bool {
	return k.spec.Minor == s.Minor && k.spec.CloudConfig == s.CloudConfig && slices.Equal(k.spec.Args, s.Args)
}

// end ends the manager in one of its ways, and keeps it ended.
func (k *keeper) end(manager func(*cluster.Manager)) {
	k.cancel()
	<-k.ended
	manager(k.current())
}

// awaitHealth waits until the manager answers. One that only waits for its lease is healthy too.
func (k *keeper) awaitHealth(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cluster.ReadyTimeout)
	defer cancel()
	for !k.current().Healthy(ctx) {
		if !kube.Pause(ctx, 100*time.Millisecond) {
			return fmt.Errorf("agent: %s is not healthy; its log: %s", k.current().Caller(), k.current().LogTail())
		}
	}
	return nil
}
