// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "context"

// StartScheduler starts kube-scheduler, which the migration itself does not need: pods find their nodes. It
// returns when the scheduler is ready.
func (c *Cluster) StartScheduler(ctx context.Context) error {
	return listening(func() error { return c.startScheduler(ctx) })
}

func (c *Cluster) startScheduler(ctx context.Context) error {
	kubeconfig, err := c.Kubeconfig(KubeScheduler)
	if err != nil {
		return err
	}
	port, err := c.port()
	if err != nil {
		return err
	}
	c.scheduler, err = c.component("kube-scheduler",
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+c.path("tls-scheduler"), "--leader-elect=false")
	if err != nil {
		return err
	}
	return c.await(ctx, "kube-scheduler", c.scheduler, func(ctx context.Context) error {
		return healthy(ctx, "https://127.0.0.1:"+port+"/healthz")
	})
}
