// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/lab/cluster"
)

// Program is what the container of a Job does instead of its image.
type Program func(context.Context, *corev1.Pod) error

// Kubelets run the pods of kube-system that are bound to a cluster's nodes: cloud-controller-managers as
// the real program, with the arguments of their container, and Jobs as one of Programs. What is no pod in
// the cluster, they run as a static pod or a plain container.
type Kubelets struct {
	// Programs do the work of Jobs, by the name of the container.
	Programs map[string]Program
	// Image is that of kube-controller-manager; with "" it is no pod, as RKE runs it.
	Image string

	cluster *cluster.Cluster
	client  kubernetes.Interface
	host    string            // the folder in place of the machines' file systems
	nodes   map[string]string // machines by the names of their nodes

	mu     sync.Mutex
	pods   map[types.UID]*running
	static map[string]*keeper // by machine
	ended  chan struct{}
	cancel context.CancelFunc
}

// running is a pod that was started.
type running struct {
	keeper *keeper // nil for a Job
	result chan error
}

// NewKubelets returns the kubelets of nodes, given the machine that each of them is.
func NewKubelets(c *cluster.Cluster, host string, nodes map[string]string) (*Kubelets, error) {
	client, err := c.Client(cluster.Admin)
	return &Kubelets{
		Programs: map[string]Program{}, cluster: c, client: client, host: host, nodes: nodes,
		pods: map[types.UID]*running{}, static: map[string]*keeper{}, ended: make(chan struct{}),
	}, err
}

// Start follows the pods until Stop. An API server that does not answer is asked again.
func (k *Kubelets) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	go func() {
		defer close(k.ended)
		for ctx.Err() == nil {
			_ = k.sync(ctx)
			kube.Pause(ctx, 150*time.Millisecond)
		}
	}()
}

// Stop ends the kubelets and all that they run.
func (k *Kubelets) Stop() {
	if k.cancel == nil {
		return // they were never started
	}
	k.cancel()
	<-k.ended
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.static {
		s.end((*cluster.Manager).Stop)
	}
	for _, r := range k.pods {
		r.end()
	}
}

// sync brings what runs to what is bound.
func (k *Kubelets) sync(ctx context.Context) error {
	list, err := k.client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	there := map[types.UID]bool{}
	var faults []error
	for i := range list.Items {
		pod := &list.Items[i]
		if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror || k.nodes[pod.Spec.NodeName] == "" {
			continue
		}
		there[pod.UID] = true
		faults = append(faults, k.pod(ctx, pod))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for uid, r := range k.pods {
		if !there[uid] {
			r.end()
			delete(k.pods, uid)
		}
	}
	return errors.Join(append(faults, k.mirrors(ctx, list.Items))...)
}

// pod takes one pod a step further.
func (k *Kubelets) pod(ctx context.Context, pod *corev1.Pod) error {
	k.mu.Lock()
	r := k.pods[pod.UID]
	k.mu.Unlock()
	switch {
	case pod.DeletionTimestamp != nil:
		if r != nil {
			r.end()
		}
		return k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *metav1.NewDeleteOptions(0))
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return nil
	case r == nil:
		return k.begin(ctx, pod)
	}
	return k.report(ctx, pod, r)
}

// begin starts a pod.
func (k *Kubelets) begin(ctx context.Context, pod *corev1.Pod) error {
	r := &running{result: make(chan error, 1)}
	if program, is := k.Programs[pod.Spec.Containers[0].Name]; is {
		// The work outlives one observation, and ends with the kubelets at the latest.
		go func() { r.result <- program(ctx, pod) }()
	} else {
		spec, err := k.specOf(ctx, pod)
		if err != nil {
			return err
		}
		r.keeper = &keeper{cluster: k.cluster, spec: spec, backoff: time.Second, ended: make(chan struct{})}
		if err := r.keeper.start(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	k.mu.Lock()
	k.pods[pod.UID] = r
	k.mu.Unlock()
	return k.writeStatus(ctx, pod, corev1.PodRunning, false)
}

// report writes what has become of a pod into its status.
func (k *Kubelets) report(ctx context.Context, pod *corev1.Pod, r *running) error {
	if r.keeper == nil {
		select {
		case err := <-r.result:
			if err != nil {
				return errors.Join(err, k.writeStatus(ctx, pod, corev1.PodFailed, false))
			}
			return k.writeStatus(ctx, pod, corev1.PodSucceeded, false)
		default:
			return nil
		}
	}
	if ready := r.keeper.current().Healthy(ctx); ready != podReady(pod) {
		return k.writeStatus(ctx, pod, corev1.PodRunning, ready)
	}
	return nil
}

// end ends what runs, and keeps it ended.
func (r *running) end() {
	if r.keeper != nil {
		r.keeper.end((*cluster.Manager).Stop)
		r.keeper = nil
	}
}

// Static makes a machine run kube-controller-manager with the given specification, and returns when it is
// healthy. One that runs so already is left alone.
func (k *Kubelets) Static(ctx context.Context, spec cluster.Spec) error {
	k.mu.Lock()
	old := k.static[spec.Machine]
	k.mu.Unlock()
	if old != nil && old.runs(spec) {
		return old.awaitHealth(ctx)
	}
	if old != nil {
		old.end((*cluster.Manager).Stop)
	}
	s := &keeper{cluster: k.cluster, spec: spec, backoff: time.Second, ended: make(chan struct{})}
	if err := s.start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("agent: %s of %s: %w", spec.Component, spec.Machine, err)
	}
	k.mu.Lock()
	k.static[spec.Machine] = s
	k.mu.Unlock()
	return s.awaitHealth(ctx)
}
