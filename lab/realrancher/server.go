// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package realrancher runs Rancher itself: its server and its webhook, as published, on an API server of
// loopback.
//
// Invariant: what answers at the URL, and what admits an object, is Rancher's own code; nothing here changes a
// request, an answer or an object between them.
package realrancher

import (
	"context"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/rke-lm/rke-lm/lab/admission"
	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/deploy"
	"github.com/rke-lm/rke-lm/lab/process"
)

// own is the minor of the cluster that Rancher runs in: Rancher no longer runs in those that it once managed.
const own = "v1.34"

// Server is a Rancher in its own cluster.
type Server struct {
	Local *cluster.Cluster

	dir        string
	client     kubernetes.Interface
	objects    dynamic.Interface
	egress     *admission.Egress
	metadata   *httptest.Server
	ports      []io.Closer
	rancher    *process.Process
	webhook    *admission.Webhook
	clusterAPI *process.Process
	helm       *deploy.Helm
	charts     *deploy.Repository
	url, ca    string
	token      string

	mu       sync.Mutex
	accounts map[string]account // by their tokens
	clusters []*Cluster
	machines int
}

// Start starts a Rancher without clusters but its own, which knows releases of RKE2. Its files are below dir.
func Start(ctx context.Context, dir string, releases ...string) (*Server, error) {
	s := &Server{dir: dir, accounts: map[string]account{}}
	if err := s.start(ctx, releases); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, releases []string) (err error) {
	if s.egress, err = admission.StartEgress(); err != nil {
		return err
	}
	flags, err := frontProxy(s.dir)
	if err != nil {
		return err
	}
	egress, err := s.egress.Flag(s.dir)
	if err != nil {
		return err
	}
	if s.Local, err = cluster.Start(ctx, filepath.Join(s.dir, "local"), own, cluster.Defaults, append(flags, egress)...); err != nil {
		return err
	}
	if s.helm, err = deploy.NewHelm(ctx, filepath.Join(s.dir, "helm")); err != nil {
		return err
	}
	if s.charts, err = deploy.StartRepository(ctx, s.helm, filepath.Join(s.dir, "charts")); err != nil {
		return err
	}
	access := s.Local.Config(cluster.Admin)
	if s.client, err = kubernetes.NewForConfig(access); err != nil {
		return err
	}
	if s.objects, err = dynamic.NewForConfig(access); err != nil {
		return err
	}
	s.egress.Use(s.client)
	// It makes the tokens of the service accounts that Rancher makes. One that loses its lease ends, so the
	// lease is as long as Kubernetes has it.
	if _, err := s.Local.StartManager(ctx, cluster.Spec{Component: cluster.KCM, Machine: "local", Args: []string{"--cloud-provider=external"}}); err != nil {
		return err
	}
	if err := s.startClusterAPI(ctx); err != nil {
		return err
	}
	s.metadata = httptest.NewServer(metadata(releases))
	if err := s.startRancher(ctx); err != nil {
		return err
	}
	s.webhook, err = admission.StartWebhook(ctx, s.Local, s.egress, s.dir)
	return err
}

// number returns the number of one more machine.
func (s *Server) number() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.machines++
	return s.machines
}

// Stop ends Rancher and its cluster.
func (s *Server) Stop() {
	for _, c := range s.clusters {
		c.stop()
	}
	if s.webhook != nil {
		s.webhook.Stop()
	}
	for _, p := range []*process.Process{s.clusterAPI, s.rancher} {
		if p != nil {
			p.Kill()
		}
	}
	if s.metadata != nil {
		s.metadata.Close()
	}
	if s.charts != nil {
		s.charts.Stop()
	}
	if s.Local != nil {
		s.Local.Stop()
	}
	if s.egress != nil {
		s.egress.Stop()
	}
	for _, p := range s.ports {
		p.Close()
	}
}

// run starts one of Rancher's programs with the rights of its cluster's administrator, which it has there.
func (s *Server) run(ctx context.Context, of build.Program, env []string, args ...string) (*process.Process, error) {
	path, err := of.Path(ctx)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(s.dir, of.Name)
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, err
	}
	return process.Start(process.Command{Path: path, Args: args, Dir: home, Log: filepath.Join(s.dir, of.Name+".log"),
		Env: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}, env...)})
}
