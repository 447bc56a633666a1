// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/lab/aws"
	"github.com/rke-lm/rke-lm/lab/cluster"
)

// service makes a Service of type LoadBalancer. The request to an API server that is busy or restarts is retried.
func (s *scenario) service(ctx context.Context, name string) error {
	for since := time.Now(); ; kube.Pause(ctx, 200*time.Millisecond) {
		_, err := s.client.CoreV1().Services(metav1.NamespaceDefault).Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
		switch {
		case err == nil || apierrors.IsAlreadyExists(err):
			return nil
		case ctx.Err() != nil || apierrors.IsInvalid(err) || time.Since(since) > s.timeout:
			return err
		}
	}
}

// waiting returns the Services without a load balancer, and how many there are in all.
func (s *scenario) waiting(ctx context.Context) (names []string, all int, err error) {
	list, err := s.client.CoreV1().Services(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, 0, err
	}
	for _, o := range list.Items {
		if o.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		all++
		if len(o.Status.LoadBalancer.Ingress) == 0 {
			names = append(names, o.Name)
		}
	}
	return names, all, nil
}

// served waits until every Service has its load balancer and no other load balancer exists, and returns how many
// there are. A Service that is being deleted, or just made, is in one of the two lists only for a moment.
func (s *scenario) served() int {
	s.Helper()
	var names []string
	var all, balancers int
	defer func() {
		if len(names) > 0 || balancers != all {
			s.Logf("still waiting, of %d with %d load balancers: %v", all, balancers, names)
		}
	}()
	s.eventually("a load balancer for every Service", func(ctx context.Context) bool {
		var err error
		names, all, err = s.waiting(ctx)
		balancers = len(s.cluster.AWS.Balancers())
		return err == nil && all > 0 && len(names) == 0 && balancers == all
	})
	return all
}

// traffic makes Services all along, until the function that it returns is called, and fewer of them later: a new leader
// checks each Service that there is, which takes minutes for hundreds on a slow machine.
func (s *scenario) traffic(every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(s.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			if err := s.service(ctx, fmt.Sprintf("web-%d", n)); err != nil && ctx.Err() == nil {
				s.Error(err)
			}
			kube.Pause(ctx, every+time.Duration(n)*every/20)
		}
	})
	return func() { cancel(); running.Wait() }
}

// join launches a machine whose kubelet is configured as the cluster says now.
func (s *scenario) join() aws.Instance {
	s.Helper()
	s.machines++
	with := cluster.InTree
	if s.external {
		with = cluster.External
		s.left++
	}
	instance := assert.Value(s.cluster.Join(s.Context(), s.machines, with))(s)
	return instance
}

// initialised waits until the nodes of all instances are as a provider makes them.
func (s *scenario) initialised(instances []aws.Instance) {
	s.Helper()
	for _, i := range instances {
		problem := ""
		s.eventually("node "+i.Name+" as its provider makes it", func(ctx context.Context) bool {
			node, err := s.client.CoreV1().Nodes().Get(ctx, i.Name, metav1.GetOptions{})
			if err != nil {
				return false
			}
			problem = cluster.NodeProblem(node, i)
			return problem == ""
		})
	}
}
