// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rke-lm/rke-lm/lab/cluster"
)

// started returns a cluster that ends with the test.
func started(t *testing.T) (*cluster.Cluster, *kubernetes.Clientset) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real control planes")
	}
	c, err := cluster.Start(t.Context(), t.TempDir(), cluster.Short)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	client, err := c.Client(cluster.Admin)
	if err != nil {
		t.Fatal(err)
	}
	return c, client
}

// eventually waits until what is asked for is there.
func eventually(t *testing.T, what string, ok func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !ok(ctx) {
		select {
		case <-ctx.Done():
			t.Fatal("never came:", what)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func TestTheInTreeProviderMakesALoadBalancer(t *testing.T) {
	c, client := started(t)
	if _, err := c.Join(t.Context(), 1, false); err != nil {
		t.Fatal(err)
	}
	m, err := c.StartManager(t.Context(), cluster.Spec{Component: cluster.KCM, Machine: "cp-1", Args: []string{"--cloud-provider=aws", "--configure-cloud-routes=false"}})
	if err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: metav1.NamespaceDefault},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if _, err := client.CoreV1().Services(metav1.NamespaceDefault).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the load balancer's name", func(ctx context.Context) bool {
		s, err := client.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, "web", metav1.GetOptions{})
		return err == nil && len(s.Status.LoadBalancer.Ingress) == 1 && strings.HasSuffix(s.Status.LoadBalancer.Ingress[0].Hostname, ".amazonaws.com")
	})
	for name, instances := range c.AWS.Balancers() {
		if instances != 1 {
			t.Errorf("%s has %d instances, want 1", name, instances)
		}
	}
	for _, w := range c.AWS.Writes() {
		if w.Caller != m.Caller() {
			t.Errorf("%s was written by %s", w.Action, w.Caller)
		}
	}
	if a := m.Acquired(); len(a) != 1 || a[0].Lease != "kube-controller-manager" {
		t.Error("leases of the manager:", a)
	}
}
