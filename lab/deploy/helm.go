// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/process"
)

// Helm runs the real helm with folders of its own.
type Helm struct {
	Path string // the program
	dir  string

	mu    sync.Mutex
	fault error
}

// Fault returns how the last run failed that did, with what helm said; nil for none.
func (h *Helm) Fault() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fault
}

// NewHelm returns the helm of the lab's cache. What it keeps is below dir.
func NewHelm(ctx context.Context, dir string) (*Helm, error) {
	path, err := build.Helm.Path(ctx)
	if err != nil {
		return nil, err
	}
	return &Helm{Path: path, dir: dir}, os.MkdirAll(dir, 0o755)
}

// Environment is that of every run.
func (h *Helm) Environment() []string {
	return []string{"HOME=" + h.dir, "HELM_CACHE_HOME=" + filepath.Join(h.dir, "cache"), "HELM_CONFIG_HOME=" + filepath.Join(h.dir, "config"), "HELM_DATA_HOME=" + filepath.Join(h.dir, "data")}
}

// Run runs helm to its end.
func (h *Helm) Run(ctx context.Context, args ...string) error {
	log := filepath.Join(h.dir, "helm.log")
	p, err := process.Start(process.Command{Path: h.Path, Args: args, Env: h.Environment(), Log: log})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		p.Stop(5 * time.Second)
		return ctx.Err()
	case <-p.Ended():
	}
	if err := p.Err(); err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.fault = fmt.Errorf("deploy: helm %s: %w; its log: %s", args[0], err, p.LogTail())
		return h.fault
	}
	return nil
}

// Job does what the pod of a chart's Job does, against the cluster of a kubeconfig.
func (h *Helm) Job(c *Charts, kubeconfig string) func(context.Context, *corev1.Pod) error {
	return func(ctx context.Context, pod *corev1.Pod) error {
		name := pod.Labels[chartLabel]
		if pod.Spec.Containers[0].Args[0] == "delete" {
			return h.Run(ctx, "uninstall", name, "--ignore-not-found", "--namespace", metav1.NamespaceSystem, "--kubeconfig", kubeconfig)
		}
		chart, err := c.charts.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return h.install(ctx, chart, kubeconfig)
	}
}

func (h *Helm) install(ctx context.Context, chart *unstructured.Unstructured, kubeconfig string) error {
	spec := map[string]string{}
	for _, key := range []string{"chart", "repo", "version", "targetNamespace", "valuesContent"} {
		spec[key], _, _ = unstructured.NestedString(chart.Object, "spec", key)
	}
	values := filepath.Join(h.dir, chart.GetName()+"-values.yaml")
	if err := os.WriteFile(values, []byte(spec["valuesContent"]), 0o600); err != nil {
		return err
	}
	if spec["targetNamespace"] == "" {
		spec["targetNamespace"] = chart.GetNamespace()
	}
	return h.Run(ctx, "upgrade", "--install", chart.GetName(), spec["chart"], "--repo", spec["repo"], "--version", spec["version"],
		"--namespace", spec["targetNamespace"], "--values", values, "--kubeconfig", kubeconfig)
}
