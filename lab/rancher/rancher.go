// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package rancher replaces Rancher's server: the real API server with Rancher's definitions below
// Rancher's paths and tokens, and as much of its controllers as a change of a cluster goes through.
//
// Invariant: a cluster follows its object in the API and nothing else, one machine at a time, and the
// managers of its machines run with what Rancher rendered for them.
package rancher

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/deploy"
)

// The namespaces in which Rancher keeps the clusters that it provisions, and its own.
const (
	Namespace      = "fleet-default"
	localNamespace = "fleet-local"
	localName      = "local"
)

// Server is a Rancher with the cluster that it runs in.
type Server struct {
	Local *cluster.Cluster
	// Pause is the time between a machine that has followed and the next one.
	Pause time.Duration

	dir     string
	timing  cluster.Timing
	client  kubernetes.Interface
	dynamic dynamic.Interface
	proxy   *proxy
	webhook *webhook
	// published is Rancher's own webhook, where that is to admit objects in place of the other one.
	published *published
	helm      *deploy.Helm
	charts    *deploy.Repository
	ctx       context.Context // ends with the server
	cancel    context.CancelFunc
	running   sync.WaitGroup

	mu          sync.Mutex
	downstreams []*Downstream
	faults      map[string]error
}

// Start starts a Rancher without clusters but its own. Its files are below dir.
func Start(ctx context.Context, dir string, timing cluster.Timing) (*Server, error) {
	return start(ctx, &Server{dir: dir, timing: timing})
}

// StartBare starts one without a webhook: AddWebhook adds Rancher's own.
func StartBare(ctx context.Context, dir string, timing cluster.Timing) (*Server, error) {
	return start(ctx, &Server{dir: dir, timing: timing, published: &published{}})
}

func start(ctx context.Context, s *Server) (*Server, error) {
	s.faults = map[string]error{}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := s.start(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(ctx context.Context) (err error) {
	var flags []string
	if s.published != nil {
		if flags, err = s.published.flags(s.dir); err != nil {
			return err
		}
	}
	if s.Local, err = cluster.Start(ctx, filepath.Join(s.dir, localName), cluster.LastInTree, s.timing, flags...); err != nil {
		return err
	}
	config := s.Local.Config(cluster.Admin)
	if s.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if s.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	if s.helm, err = deploy.NewHelm(ctx, filepath.Join(s.dir, "helm")); err != nil {
		return err
	}
	if s.charts, err = deploy.StartRepository(ctx, s.helm, filepath.Join(s.dir, "charts")); err != nil {
		return err
	}
	if err := deploy.Define(ctx, config, definitions()...); err != nil {
		return fmt.Errorf("rancher: definitions: %w", err)
	}
	for _, namespace := range []string{Namespace, localNamespace} {
		if err := s.namespace(ctx, namespace); err != nil {
			return err
		}
	}
	if s.published == nil {
		if s.webhook, err = s.startWebhook(ctx); err != nil {
			return err
		}
	}
	if err := s.addLocal(ctx); err != nil {
		return err
	}
	if s.proxy, err = s.startProxy(s.dir); err != nil {
		return err
	}
	return s.admit(ctx, localName, s.Local)
}

// Stop ends Rancher and all of its clusters.
func (s *Server) Stop() {
	s.cancel()
	s.running.Wait()
	for _, d := range s.Downstreams() {
		d.stop()
	}
	if s.proxy != nil {
		s.proxy.stop()
	}
	if s.charts != nil {
		s.charts.Stop()
	}
	if s.webhook != nil {
		s.webhook.stop()
	}
	if s.published != nil {
		s.published.stop()
	}
	if s.Local != nil {
		s.Local.Stop()
	}
}

// Downstreams returns the clusters that were added.
func (s *Server) Downstreams() []*Downstream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Downstream(nil), s.downstreams...)
}

// Fault returns what keeps a cluster from following now, if anything.
func (s *Server) Fault(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults[id]
}

// reconcile does a controller's work again and again. What fails is tried again with the next round.
func (s *Server) reconcile(id string, sync func(context.Context) error) {
	s.running.Go(func() {
		for s.ctx.Err() == nil {
			err := sync(s.ctx)
			s.mu.Lock()
			s.faults[id] = err
			s.mu.Unlock()
			kube.Pause(s.ctx, 100*time.Millisecond)
		}
	})
}

func (s *Server) namespace(ctx context.Context, name string) error {
	_, err := s.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
