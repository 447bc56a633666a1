// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/lab/process"
)

// ReadyTimeout is how long a program may take to become ready, or to show something, on a machine that does much
// else. A scenario in which all goes well never waits so long.
const ReadyTimeout = 3 * time.Minute

// errTaken means that another program listens on the port that was to be a component's.
var errTaken = errors.New("its port was taken by another program")

// listening starts a component, and again where another program was faster to listen on its port.
func listening(start func() error) (err error) {
	for range 5 {
		if err = start(); !errors.Is(err, errTaken) {
			return err
		}
	}
	return err
}

// await waits until a part of the control plane is ready.
func (c *Cluster) await(ctx context.Context, name string, p *process.Process, ready func(context.Context) error) error {
	return Await(ctx, ReadyTimeout, name, p, ready)
}

// Await waits until a program is ready. When it ends or takes longer than a limit, the error has its
// last message, since its log is gone with the test.
func Await(ctx context.Context, limit time.Duration, name string, p *process.Process, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil && p.Alive() { // else another program answered
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lab: %s is not ready: %w; its log: %s", name, err, p.LogTail())
		case <-p.Ended():
			err, log := p.Err(), p.LogTail()
			if strings.Contains(log, "address already in use") {
				err = errTaken
			}
			return fmt.Errorf("lab: %s ended: %w; its log: %s", name, err, log)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// storeReady reports whether etcd serves: kube-apiserver ends when it does not find it for 20 seconds.
func (c *Cluster) storeReady(ctx context.Context) error { return healthy(ctx, c.store+"/health") }

// ready reports whether the API server serves and has made the namespaces that Kubernetes starts with.
func (c *Cluster) ready(ctx context.Context) error {
	client, err := c.Client(Admin)
	if err != nil {
		return err
	}
	if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return err
	}
	// The server makes these a moment after it is ready.
	for _, namespace := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
		if _, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}); err != nil {
			return err
		}
	}
	return nil
}
