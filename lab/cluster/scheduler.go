// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

// StartScheduler starts kube-scheduler, which the migration itself does not need: pods find their nodes.
func (c *Cluster) StartScheduler() error {
	kubeconfig, err := c.Kubeconfig(KubeScheduler)
	if err != nil {
		return err
	}
	port, err := c.port()
	if err != nil {
		return err
	}
	c.scheduler, err = c.component("kube-scheduler", "kube-scheduler",
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+c.path("tls-scheduler"), "--leader-elect=false")
	return err
}
