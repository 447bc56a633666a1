// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/cluster"
)

// started returns a cluster that ends with the test.
func started(t *testing.T) (*cluster.Cluster, *kubernetes.Clientset) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real control planes")
	}
	c := assert.Value(cluster.Start(t.Context(), t.TempDir(), cluster.LastInTree, cluster.Short))(t)
	t.Cleanup(c.Stop)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.LogTail())
		}
	})
	client := assert.Value(c.Client(cluster.Admin))(t)
	return c, client
}

// eventually waits until what is requested is there.
func eventually(t *testing.T, what string, ok func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), cluster.ReadyTimeout)
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
	if _, err := c.Join(t.Context(), 1, cluster.InTree); err != nil {
		t.Fatal(err)
	}
	m := assert.Value(c.StartManager(t.Context(), cluster.Spec{Component: cluster.KCM, Machine: "cp-1", Args: []string{"--cloud-provider=aws", "--configure-cloud-routes=false"}}))(t)
	makeService(t, client)
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
	eventually(t, "the manager's word that it leads", func(context.Context) bool { return len(m.Acquired()) > 0 })
	if a := m.Acquired(); len(a) != 1 || a[0].Lease != "kube-controller-manager" {
		t.Error("leases of the manager:", a)
	}
}

func makeService(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	assert.Value(client.CoreV1().Services(metav1.NamespaceDefault).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{}))(t)
}

func TestClustersKnowNothingOfEachOther(t *testing.T) {
	_, one := started(t)
	_, two := started(t)
	makeService(t, one)
	if _, err := two.CoreV1().Services(metav1.NamespaceDefault).Get(t.Context(), "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Error("the Service of one cluster is in the other:", err)
	}
}

func TestTheManagerHasTheRightsOfItsMinorAndNoMore(t *testing.T) {
	c, _ := started(t)
	manager := assert.Value(c.Client(cluster.KubeControllerManager))(t)
	for _, want := range []struct {
		verb, lease string
		allowed     bool
	}{
		{"update", "kube-controller-manager", true},
		{"create", "", true},
		{"get", "cloud-provider-extraction-migration", false},
		{"update", "cloud-provider-extraction-migration", false},
	} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: metav1.NamespaceSystem, Group: "coordination.k8s.io", Resource: "leases", Verb: want.verb, Name: want.lease},
		}}
		answer := assert.Value(manager.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{}))(t)
		if answer.Status.Allowed != want.allowed {
			t.Errorf("%s lease %q: allowed is %v", want.verb, want.lease, answer.Status.Allowed)
		}
	}
}

func TestPodsFindTheirNodes(t *testing.T) {
	c, client := started(t)
	node := assert.Value(c.Join(t.Context(), 1, cluster.InTree))(t)
	if _, err := c.StartManager(t.Context(), cluster.Spec{Component: cluster.KCM, Machine: "cp-1", Args: []string{"--cloud-provider=external"}}); err != nil {
		t.Fatal(err)
	}
	assert.NilError(t, c.StartScheduler(t.Context()))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}}}
	eventually(t, "a pod, once its service account is there", func(ctx context.Context) bool {
		_, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{})
		return err == nil
	})
	eventually(t, "the pod's node", func(ctx context.Context) bool {
		p, err := client.CoreV1().Pods(metav1.NamespaceDefault).Get(ctx, "web", metav1.GetOptions{})
		return err == nil && p.Spec.NodeName == node.Name
	})
}

func TestAManagerThatLosesItsRightsEnds(t *testing.T) {
	c, client := started(t)
	m := assert.Value(c.StartManager(t.Context(), cluster.Spec{Component: cluster.KCM, Machine: "cp-1", Args: []string{"--cloud-provider=external"}}))(t)
	eventually(t, "a leader", func(context.Context) bool { return len(m.Acquired()) > 0 })
	assert.NilError(t, client.RbacV1().ClusterRoleBindings().Delete(t.Context(), cluster.KubeControllerManager, metav1.DeleteOptions{}))
	eventually(t, "the manager's end", func(context.Context) bool { _, ended := m.EndedAt(); return ended })
}

func TestWhenAManagerEndedIsKnownAtOnce(t *testing.T) {
	c, _ := started(t)
	for _, end := range []func(*cluster.Manager){(*cluster.Manager).Kill, (*cluster.Manager).Stop} {
		m := assert.Value(c.StartManager(t.Context(), cluster.Spec{Component: cluster.KCM, Machine: "cp-1", Args: []string{"--cloud-provider=external"}}))(t)
		end(m)
		if _, over := m.EndedAt(); !over || m.Alive() || !m.Asked() {
			t.Error("it has ended, and that is not reported")
		}
	}
}
