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

// Cluster is etcd, kube-apiserver and an AWS account. Managers are started one by one.
type Cluster struct {
	AWS     *aws.Fake
	Version string // of Kubernetes, such as "v1.26.15"
	Timing  Timing // as asked for, or longer on a slow machine
	// Slowness is how many times longer than on an idle machine the start took; 1 at least.
	Slowness int
	Dir      string // logs, certificates, kubeconfigs; all that the cluster writes

	binary string   // the control plane
	flags  []string // of the API server, after those that all have
	server string   // URL
	store  string   // URL of etcd
	etcd   *process.Process
	api    *process.Process

	scheduler *process.Process

	mu       sync.Mutex
	parts    []part // of the control plane, as they were started
	managers []*Manager
	ports    []io.Closer
}

// LastInTree is the last minor with the in-tree provider.
const LastInTree = "v1.26"

// Start starts a cluster of a minor, whose files are below dir, with more flags of its API server. It returns
// when the API server is ready.
func Start(ctx context.Context, dir, minor string, timing Timing, flags ...string) (*Cluster, error) {
	program, err := build.ControlPlane(minor)
	if err != nil {
		return nil, err
	}
	binary, err := program.Path(ctx)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Version: program.Version, Timing: timing, Dir: dir, binary: binary, flags: flags}
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
	began := time.Now()
	if err := listening(func() error { return c.startEtcd(ctx) }); err != nil {
		return err
	}
	err := listening(func() error {
		port, err := c.port()
		if err != nil {
			return err
		}
		c.server = "https://127.0.0.1:" + port
		return c.startAPI(ctx)
	})
	c.Slowness = slowness(time.Since(began))
	c.Timing = c.Timing.stretched(c.Slowness)
	return err
}

// RestartAPI ends the API server at once and starts it again where it was. It returns when the new one is
// ready.
func (c *Cluster) RestartAPI(ctx context.Context) error {
	c.api.Kill()
	return listening(func() error { return c.startAPI(ctx) })
}

// PauseAPI lets the API server respond to nothing for some time, and returns when it responds again.
func (c *Cluster) PauseAPI(d time.Duration) {
	c.api.Freeze()
	time.Sleep(d)
	c.api.Thaw()
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
	if err := os.RemoveAll(c.path("etcd")); err != nil { // of a try whose ports were taken
		return err
	}
	url, member := "http://127.0.0.1:"+client, "http://127.0.0.1:"+peer
	c.store = url
	c.etcd, err = c.component("etcd",
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
	c.api, err = c.component("kube-apiserver", append([]string{
		"--etcd-servers=" + c.store, "--bind-address=127.0.0.1", "--secure-port=" + port, "--cert-dir=" + c.path("tls"),
		"--token-auth-file=" + c.path("tokens.csv"), "--authorization-mode=Node,RBAC", "--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + ServiceNetwork, "--allow-privileged=true", "--profiling=false",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + c.path("service.key"),
		"--service-account-signing-key-file=" + c.path("service.key")}, c.flags...)...)
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
func (c *Cluster) component(name string, args ...string) (*process.Process, error) {
	p, err := process.Start(process.Command{Path: c.binary, Args: append([]string{name}, args...), Env: environment(), Log: c.path(name + ".log")})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parts = append(c.parts, part{name, p})
	return p, nil
}

// environment keeps the caller's credentials and proxies out of the lab.
func environment() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"} }

func (c *Cluster) path(parts ...string) string {
	return filepath.Join(append([]string{c.Dir}, parts...)...)
}
