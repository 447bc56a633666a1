// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster runs real control planes on free ports of loopback, without containers.
//
// Invariant: what a cluster has started ends with it, and with the process that started it. The managers
// have the identities and the rights that RKE2 gives them, and no more.
package cluster

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rke-lm/rke-lm/lab/aws"
	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/process"
)

// The networks of RKE2.
const (
	PodNetwork     = "10.42.0.0/16"
	ServiceNetwork = "10.43.0.0/16"
)

// Timing is how managers elect their leaders.
type Timing struct{ Lease, Renew, Retry time.Duration }

// Short keeps a run near a minute. Defaults are Kubernetes' own.
var (
	Short    = Timing{Lease: 3 * time.Second, Renew: 2 * time.Second, Retry: 500 * time.Millisecond}
	Defaults = Timing{Lease: 15 * time.Second, Renew: 10 * time.Second, Retry: 2 * time.Second}
)

// Takeover is the longest time that passes between the last renewal of a dead leader and the first hold of
// a candidate that waits: a candidate looks again after at most 2.2 times the retry period.
func (t Timing) Takeover() time.Duration { return t.Lease + t.Retry*22/10 }

func (t Timing) flags() []string {
	return []string{
		"--leader-elect-lease-duration=" + t.Lease.String(),
		"--leader-elect-renew-deadline=" + t.Renew.String(),
		"--leader-elect-retry-period=" + t.Retry.String(),
	}
}

// Cluster is etcd, kube-apiserver and an AWS account. Managers are started one by one.
type Cluster struct {
	AWS    *aws.Fake
	Timing Timing
	Dir    string // logs, certificates, kubeconfigs; all that the cluster writes

	binary string // the control plane
	server string // URL
	store  string // URL of etcd
	etcd   *process.Process
	api    *process.Process

	scheduler *process.Process

	mu       sync.Mutex
	managers []*Manager
	ports    []io.Closer
}

// Start starts a cluster whose files are below dir. It returns when the API server is ready.
func Start(ctx context.Context, dir string, timing Timing) (*Cluster, error) {
	binary, err := build.ControlPlane.Path(ctx)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Timing: timing, Dir: dir, binary: binary}
	if c.AWS, err = aws.Start("lab"); err != nil {
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.writeIdentities(); err != nil {
		return err
	}
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	port, err := c.port()
	if err != nil {
		return err
	}
	c.server = "https://127.0.0.1:" + port
	return c.startAPI(ctx)
}

// RestartAPI ends the API server at once and starts it again where it was. It returns when the new one is
// ready.
func (c *Cluster) RestartAPI(ctx context.Context) error {
	c.api.Kill()
	return c.startAPI(ctx)
}

// Stop ends all that the cluster has started, the managers first.
func (c *Cluster) Stop() {
	for _, m := range c.Managers() {
		m.Kill()
	}
	for _, p := range []*process.Process{c.scheduler, c.api, c.etcd} {
		if p != nil {
			p.Kill()
		}
	}
	c.AWS.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, port := range c.ports {
		port.Close()
	}
	c.ports = nil
}

func (c *Cluster) startEtcd(ctx context.Context) error {
	client, err := c.port()
	if err != nil {
		return err
	}
	peer, err := c.port()
	if err != nil {
		return err
	}
	url, member := "http://127.0.0.1:"+client, "http://127.0.0.1:"+peer
	c.store = url
	c.etcd, err = c.component("etcd", "etcd",
		"--data-dir="+c.path("etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+url, "--advertise-client-urls="+url, "--listen-peer-urls="+member,
		"--initial-advertise-peer-urls="+member, "--initial-cluster=default="+member)
	if err != nil {
		return err
	}
	return c.await(ctx, "etcd", c.etcd, c.storeReady)
}

func (c *Cluster) startAPI(ctx context.Context) (err error) {
	_, port, _ := strings.Cut(strings.TrimPrefix(c.server, "https://"), ":")
	c.api, err = c.component("kube-apiserver", "kube-apiserver",
		"--etcd-servers="+c.store, "--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+c.path("tls"),
		"--token-auth-file="+c.path("tokens.csv"), "--authorization-mode=Node,RBAC", "--endpoint-reconciler-type=none",
		"--service-cluster-ip-range="+ServiceNetwork, "--allow-privileged=true", "--profiling=false",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+c.path("service.key"),
		"--service-account-signing-key-file="+c.path("service.key"))
	if err != nil {
		return err
	}
	return c.await(ctx, "kube-apiserver", c.api, c.ready)
}

// Config returns what a client needs to act as a user.
func (c *Cluster) Config(user string) *rest.Config {
	return &rest.Config{
		Host: c.server, BearerToken: token(user), QPS: 200, Burst: 400,
		TLSClientConfig: rest.TLSClientConfig{CAFile: c.certificate()},
	}
}

// Client returns a client that acts as a user.
func (c *Cluster) Client(user string) (*kubernetes.Clientset, error) {
	return kubernetes.NewForConfig(c.Config(user))
}

// component starts a part of the control plane.
func (c *Cluster) component(part, name string, args ...string) (*process.Process, error) {
	return process.Start(process.Command{Path: c.binary, Args: append([]string{part}, args...), Env: environment(), Log: c.path(name + ".log")})
}

// environment keeps the caller's credentials and proxies out of the lab.
func environment() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"} }

func (c *Cluster) path(parts ...string) string {
	return filepath.Join(append([]string{c.Dir}, parts...)...)
}
