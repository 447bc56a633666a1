// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package admission runs Rancher's own webhook, as published, for the API server of a cluster.
//
// Invariant: what admits an object is Rancher's own code. It registers itself; nothing here changes a request or an
// answer between it and kube-apiserver.
package admission

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/process"
)

// namespace and name are of the webhook's Service, both fixed in the webhook.
const namespace, name = "cattle-system", "rancher-webhook"

// Webhook is Rancher's webhook.
type Webhook struct {
	command process.Command
	client  kubernetes.Interface
	objects dynamic.Interface
	marks   []io.Closer
	process *process.Process
}

// StartWebhook starts the webhook, and returns when the API server of a cluster asks it. That server has the
// definitions of all objects that the webhook reads, and Rancher's own cluster. Its files are below dir.
func StartWebhook(ctx context.Context, of *cluster.Cluster, e *Egress, dir string) (*Webhook, error) {
	client, err := kubernetes.NewForConfig(of.Config(cluster.Admin))
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(of.Config(cluster.Admin))
	if err != nil {
		return nil, err
	}
	w := &Webhook{client: client, objects: objects}
	if err := w.start(ctx, of, e, dir); err != nil {
		w.Stop()
		return nil, err
	}
	return w, nil
}

func (w *Webhook) start(ctx context.Context, of *cluster.Cluster, e *Egress, dir string) error {
	program, err := build.RancherWebhook.Path(ctx)
	if err != nil {
		return err
	}
	kubeconfig, err := of.Kubeconfig(cluster.Admin)
	if err != nil {
		return err
	}
	port, marks, err := cluster.ReservePair()
	if err != nil {
		return err
	}
	w.marks = marks
	e.Lead(namespace+"/"+name, "127.0.0.1:"+strconv.Itoa(port))
	if err := Service(ctx, w.client, namespace, name, 443); err != nil {
		return err
	}
	home := filepath.Join(dir, name)
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	w.command = process.Command{Path: program, Dir: home, Log: home + ".log", Env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home,
		"KUBECONFIG=" + kubeconfig, "CATTLE_PORT=" + strconv.Itoa(port), "ENABLE_MCM=true",
	}}
	return w.Restart(ctx)
}

// Restart starts the webhook again, and returns when it admits objects.
func (w *Webhook) Restart(ctx context.Context) (err error) {
	w.Kill()
	if w.process, err = process.Start(w.command); err != nil {
		return err
	}
	return cluster.Await(ctx, 2*cluster.ReadyTimeout, name, w.process, w.admits)
}

// admits reports whether the API server asks the webhook about clusters: it reads a new configuration late.
// Rancher's own cluster must not be deleted, and every cluster gets its creator; nothing of that is stored.
func (w *Webhook) admits(ctx context.Context) error {
	dry := []string{metav1.DryRunAll}
	own := w.objects.Resource(clusters).Namespace("fleet-local")
	if err := own.Delete(ctx, "local", metav1.DeleteOptions{DryRun: dry}); err == nil || !strings.Contains(err.Error(), "denied the request: local cluster") {
		return fmt.Errorf("it refuses nothing: %v", err)
	}
	made, err := own.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": clusters.GroupVersion().String(), "kind": "Cluster", "metadata": map[string]any{"name": "admitted"}, "spec": map[string]any{},
	}}, metav1.CreateOptions{DryRun: dry})
	if err == nil && made.GetAnnotations()["field.cattle.io/creatorId"] == "" {
		err = errors.New("it changes nothing")
	}
	return err
}

// clusters are what it has to admit for certain.
var clusters = schema.GroupVersionResource{Group: "provisioning.cattle.io", Version: "v1", Resource: "clusters"}

// Kill ends the webhook at once; the API server still requires it.
func (w *Webhook) Kill() {
	if w.process != nil {
		w.process.Kill()
	}
}

// Stop ends the webhook.
func (w *Webhook) Stop() {
	w.Kill()
	for _, m := range w.marks {
		m.Close()
	}
}

// LogTail describes for people what the webhook said last.
func (w *Webhook) LogTail() string {
	if w.process == nil {
		return ""
	}
	return w.process.LogTail()
}

// Service makes a namespace with a Service that has a port.
func Service(ctx context.Context, client kubernetes.Interface, namespace, name string, port int32) error {
	_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	_, err = client.CoreV1().Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: port}}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}
