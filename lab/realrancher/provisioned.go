// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher

import (
	"context"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/aws"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/process"
)

// The resources that are looked at.
var (
	clusters       = schema.GroupVersionResource{Group: "provisioning.cattle.io", Version: "v1", Resource: "clusters"}
	controlPlanes  = schema.GroupVersionResource{Group: "rke.cattle.io", Version: "v1", Resource: "rkecontrolplanes"}
	etcdSnapshots  = schema.GroupVersionResource{Group: "rke.cattle.io", Version: "v1", Resource: "etcdsnapshots"}
	userAttributes = schema.GroupVersionResource{Group: "management.cattle.io", Version: "v3", Resource: "userattributes"}
	registrations  = schema.GroupVersionResource{Group: "management.cattle.io", Version: "v3", Resource: "clusterregistrationtokens"}
)

// Namespace is where Rancher keeps the clusters that it provisions.
const Namespace = "fleet-default"

// Cluster is one that Rancher provisions, of machines that register themselves.
type Cluster struct {
	Name, ID string
	Machines []*Machine

	// Downstream is its API server; nil where none is connected.
	Downstream *cluster.Cluster

	server    *Server
	token     string            // by which machines register
	objects   dynamic.Interface // as the administrator, through Rancher
	instances []aws.Instance    // launched, and not joined yet
	kubelets  *agent.Kubelets
	rke2      *agent.RKE2
	agent     *process.Process // the cluster's, by which Rancher reaches it
}

// AddCluster makes a cluster of an object, at Rancher's front door. It has no machines yet.
func (s *Server) AddCluster(ctx context.Context, object map[string]any) (*Cluster, error) {
	objects, err := dynamic.NewForConfig(s.Through(s.token, "local"))
	if err != nil {
		return nil, err
	}
	made, err := objects.Resource(clusters).Namespace(Namespace).Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	c := &Cluster{Name: made.GetName(), server: s, objects: objects}
	if err := c.await(ctx, "a token for machines", c.registered); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clusters = append(s.clusters, c)
	return c, nil
}

// registered looks for the token by which Rancher lets machines in.
func (c *Cluster) registered(ctx context.Context) (bool, error) {
	o, err := c.Object(ctx)
	if err != nil {
		return false, err
	}
	if c.ID, _, err = unstructured.NestedString(o.Object, "status", "clusterName"); c.ID == "" || err != nil {
		return false, err
	}
	token, err := c.objects.Resource(registrations).Namespace(c.ID).Get(ctx, "default-token", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c.token, _, err = unstructured.NestedString(token.Object, "status", "token")
	return c.token != "", err
}

// Object returns the cluster as Rancher has it.
func (c *Cluster) Object(ctx context.Context) (*unstructured.Unstructured, error) {
	return c.objects.Resource(clusters).Namespace(Namespace).Get(ctx, c.Name, metav1.GetOptions{})
}

// Update writes the cluster's specification, as people do who write the whole object.
func (c *Cluster) Update(ctx context.Context, spec map[string]any) error {
	// Rancher's controllers write it too, its server closes connections that were idle, and the API server's own to the
	// webhook ends with the webhook's listener, which another certificate starts again.
	again := func(err error) bool {
		return apierrors.IsConflict(err) || apierrors.IsInternalError(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err)
	}
	return retry.OnError(wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Steps: 8}, again, func() error {
		o, err := c.Object(ctx)
		if err != nil {
			return err
		}
		o.Object["spec"] = spec
		_, err = c.objects.Resource(clusters).Namespace(Namespace).Update(ctx, o, metav1.UpdateOptions{})
		return err
	})
}

// Edit changes the cluster as Rancher's UI does: it reads the object from Rancher's own API and writes the whole of it,
// again where Rancher has written its status in between.
func (c *Cluster) Edit(ctx context.Context, change func(object map[string]any)) error {
	path := "/v1/" + clusters.Group + "." + clusters.Resource + "/" + Namespace + "/" + c.Name
	return retry.RetryOnConflict(wait.Backoff{Duration: 100 * time.Millisecond, Factor: 1, Steps: 20}, func() error {
		o, err := c.server.ask(ctx, http.MethodGet, path, c.server.token, nil)
		if err != nil {
			return err
		}
		change(o)
		_, err = c.server.ask(ctx, http.MethodPut, path, c.server.token, o)
		return err
	})
}

// Snapshots returns the names of the snapshots of etcd that Rancher lists for the cluster.
func (c *Cluster) Snapshots(ctx context.Context) (names []string, err error) {
	list, err := c.objects.Resource(etcdSnapshots).Namespace(Namespace).List(ctx, metav1.ListOptions{LabelSelector: "rke.cattle.io/cluster-name=" + c.Name})
	if err != nil {
		return nil, err
	}
	for _, o := range list.Items {
		names = append(names, o.GetName())
	}
	return names, nil
}

// await waits for something of the cluster.
func (c *Cluster) await(ctx context.Context, what string, is func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, cluster.ReadyTimeout)
	defer cancel()
	for {
		done, err := is(ctx)
		if done && err == nil {
			return nil
		}
		if !kube.Pause(ctx, 250*time.Millisecond) {
			return fmt.Errorf("realrancher: cluster %s never came to %s: %w", c.Name, what, err)
		}
	}
}

// stop ends the agents of its machines, and what is connected.
func (c *Cluster) stop() {
	for _, m := range c.Machines {
		m.stop()
	}
	c.disconnect()
}
