// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// busy makes Services all along, until the function that it returns is called. One that a restarting API
// server does not take is asked for again.
func (c *conducted) busy() (stop func()) {
	c.Helper()
	if err := c.service(c.Context(), "first"); err != nil {
		c.Fatal(err)
	}
	c.served()
	every := 2 * time.Second // whoever takes over looks at all of them again, one by one
	if soaks() {
		every = 15 * time.Second
	}
	ctx, cancel := context.WithCancel(c.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			c.insist(ctx, fmt.Sprintf("web-%d", n))
			sleep(ctx, every)
		}
	})
	return func() { cancel(); running.Wait() }
}

// insist makes a Service, however often it takes.
func (c *conducted) insist(ctx context.Context, name string) {
	for ctx.Err() == nil {
		err := c.service(ctx, name)
		if err == nil || apierrors.IsAlreadyExists(err) {
			return
		}
		sleep(ctx, 200*time.Millisecond)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
