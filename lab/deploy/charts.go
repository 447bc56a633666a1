// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/rancher/wrangler/v3/pkg/crd"
	"github.com/sirupsen/logrus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rke-lm/rke-lm/internal/kube"
)

// The names that RKE2's helm-controller uses.
const (
	chartLabel = "helmcharts.helm.cattle.io/chart"
	hashMark   = "helmcharts.helm.cattle.io/configHash"
	finalizer  = "wrangler.cattle.io/on-helm-chart-remove"
	// Container is that of the Jobs' pods.
	Container = "helm"
)

var helmCharts = schema.GroupVersionResource{Group: "helm.cattle.io", Version: "v1", Resource: "helmcharts"}

// Charts turns HelmCharts into Jobs, as helm-controller does.
type Charts struct {
	charts dynamic.ResourceInterface
	client kubernetes.Interface
	cancel context.CancelFunc
	ended  chan struct{}
}

// Define makes definitions known to an API server and waits until it serves them.
func Define(ctx context.Context, config *rest.Config, list ...crd.CRD) error {
	logrus.SetLevel(logrus.WarnLevel) // the factory logs every step
	factory, err := crd.NewFactoryFromClient(config)
	if err != nil {
		return err
	}
	return factory.BatchCreateCRDs(ctx, list...).BatchWait()
}

// StartCharts follows the HelmCharts of kube-system until Stop.
func StartCharts(ctx context.Context, config *rest.Config) (*Charts, error) {
	if err := Define(ctx, config, crd.CRD{GVK: helmCharts.GroupVersion().WithKind("HelmChart"), Status: true}); err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &Charts{charts: objects.Resource(helmCharts).Namespace(metav1.NamespaceSystem), client: client, ended: make(chan struct{})}
	following, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go c.follow(following)
	return c, nil
}

// Stop ends the controller.
func (c *Charts) Stop() {
	c.cancel()
	<-c.ended
}

// follow looks again and again. What fails is tried again with the next observation.
func (c *Charts) follow(ctx context.Context) {
	defer close(c.ended)
	for ctx.Err() == nil {
		if list, err := c.charts.List(ctx, metav1.ListOptions{}); err == nil {
			for i := range list.Items {
				_ = c.sync(ctx, &list.Items[i])
			}
		}
		kube.Pause(ctx, 200*time.Millisecond)
	}
}

func (c *Charts) sync(ctx context.Context, chart *unstructured.Unstructured) error {
	if chart.GetDeletionTimestamp() != nil {
		return c.remove(ctx, chart)
	}
	if !slices.Contains(chart.GetFinalizers(), finalizer) {
		chart.SetFinalizers(append(chart.GetFinalizers(), finalizer))
		_, err := c.charts.Update(ctx, chart, metav1.UpdateOptions{})
		return err
	}
	job := jobFor("install", chart)
	if _, err := c.run(ctx, job); err != nil {
		return err
	}
	if named, _, _ := unstructured.NestedString(chart.Object, "status", "jobName"); named == job.Name {
		return nil
	}
	if err := unstructured.SetNestedField(chart.Object, job.Name, "status", "jobName"); err != nil {
		return err
	}
	_, err := c.charts.UpdateStatus(ctx, chart, metav1.UpdateOptions{})
	return err
}

// remove lets a chart go when its last Job is done.
func (c *Charts) remove(ctx context.Context, chart *unstructured.Unstructured) error {
	done, err := c.run(ctx, jobFor("delete", chart))
	if err != nil || !done {
		return err
	}
	chart.SetFinalizers(slices.DeleteFunc(chart.GetFinalizers(), func(f string) bool { return f == finalizer }))
	if _, err := c.charts.Update(ctx, chart, metav1.UpdateOptions{}); err != nil {
		return err
	}
	for _, job := range []*batchv1.Job{jobFor("install", chart), jobFor("delete", chart)} {
		if err := c.delete(ctx, job); err != nil {
			return err
		}
	}
	return nil
}

// run sees to a Job and reports whether it is done. One for another state of the chart goes first.
func (c *Charts) run(ctx context.Context, want *batchv1.Job) (done bool, err error) {
	jobs := c.client.BatchV1().Jobs(want.Namespace)
	job, err := jobs.Get(ctx, want.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = jobs.Create(ctx, want, metav1.CreateOptions{})
		return false, err
	case err != nil:
		return false, err
	case job.Annotations[hashMark] != want.Annotations[hashMark]:
		return false, c.delete(ctx, want)
	}
	return job.Status.Succeeded > 0, nil
}

func (c *Charts) delete(ctx context.Context, job *batchv1.Job) error {
	with := metav1.DeletePropagationBackground
	err := c.client.BatchV1().Jobs(job.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{PropagationPolicy: &with})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// jobFor returns the Job for the present state of a chart. Only the pod of a bootstrap chart tolerates the
// taints of control planes.
func jobFor(verb string, chart *unstructured.Unstructured) *batchv1.Job {
	spec, _ := json.Marshal(chart.Object["spec"])
	hash := sha256.Sum256(spec)
	tries, name := int32(1000), chart.GetName()
	pod := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		NodeSelector:  map[string]string{corev1.LabelOSStable: "linux"},
		Containers:    []corev1.Container{{Name: Container, Image: "rancher/klipper-helm:v0.8.2", Args: []string{verb}}},
	}
	if first, _, _ := unstructured.NestedBool(chart.Object, "spec", "bootstrap"); first {
		pod.NodeSelector["node-role.kubernetes.io/control-plane"] = "true"
		pod.HostNetwork = true
		pod.Tolerations = bootstrapTolerations
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: "helm-" + verb + "-" + name, Namespace: metav1.NamespaceSystem,
			Labels: map[string]string{chartLabel: name}, Annotations: map[string]string{hashMark: hex.EncodeToString(hash[:])},
		},
		Spec: batchv1.JobSpec{BackoffLimit: &tries, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{chartLabel: name}}, Spec: pod,
		}},
	}
}

var bootstrapTolerations = []corev1.Toleration{
	{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
	{Key: "node.cloudprovider.kubernetes.io/uninitialized", Operator: corev1.TolerationOpEqual, Value: "true", Effect: corev1.TaintEffectNoSchedule},
	{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists},
	{Key: "node-role.kubernetes.io/etcd", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
}
