// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"

	"github.com/rke-lm/rke-lm/internal/kubeapi"
	"github.com/rke-lm/rke-lm/transform/observation"
)

// usualPods selects managers that no workload makes: mirrors of static pods.
var usualPods = []string{
	"component in (" + observation.KubeManager + "," + observation.CloudManager + ")",
	"k8s-app in (" + observation.KubeManager + "," + observation.CloudManager + ",aws-" + observation.CloudManager + ")",
}

// records returns the leases, and the newest time that the API server wrote into them.
func (o *Observer) records(ctx context.Context) (records []observation.Lease, clock time.Time, err error) {
	r := kubeapi.Resource{What: "list leases.coordination.k8s.io in kube-system", Path: "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", Kind: "LeaseList"}
	records, err = kubeapi.Collect(ctx, o.Client, r, func(l *coordinationv1.LeaseList, kept []observation.Lease) []observation.Lease {
		clock = newest(l, clock)
		return keepLeases(l, kept)
	})
	return records, clock, err
}

// readManagers reads the managers and then what they may do, which depends on
// who they are.
func (o *Observer) readManagers(ctx context.Context, out *observation.Observation) error {
	if err := o.Managers(ctx, out); err != nil {
		return err
	}
	return o.readReviews(ctx, out)
}

// Managers looks at the pods of both managers, found by the workloads that make
// them and by their usual labels: kube-system has thousands of others.
func (o *Observer) Managers(ctx context.Context, out *observation.Observation) error {
	workloads, err := o.workloads(ctx)
	if err != nil {
		return err
	}
	selectors := slices.Clone(usualPods)
	out.DaemonSets = []observation.DaemonSet{}
	for _, w := range workloads {
		if w.daemonSet != nil {
			out.DaemonSets = append(out.DaemonSets, *w.daemonSet)
		}
		if s := metav1.FormatLabelSelector(w.selector); w.selector != nil && !slices.Contains(selectors, s) {
			selectors = append(selectors, s)
		}
	}
	if out.Managers, err = o.podsOf(ctx, selectors); err != nil {
		return err
	}
	slices.SortFunc(out.Managers, func(a, b observation.Manager) int { return strings.Compare(a.Pod, b.Pod) })
	out.Managers = slices.CompactFunc(out.Managers, func(a, b observation.Manager) bool { return a.Pod == b.Pod })
	return nil
}

func (o *Observer) workloads(ctx context.Context) ([]workload, error) {
	var sets, deployments []workload
	err := atOnce(func() (err error) {
		r := kubeapi.Resource{What: "list daemonsets.apps in kube-system", Path: "/apis/apps/v1/namespaces/kube-system/daemonsets", Kind: "DaemonSetList"}
		sets, err = kubeapi.Collect(ctx, o.Client, r, func(l *appsv1.DaemonSetList, kept []workload) []workload { return keepDaemonSets(l, kept) })
		return err
	}, func() (err error) {
		r := kubeapi.Resource{What: "list deployments.apps in kube-system", Path: "/apis/apps/v1/namespaces/kube-system/deployments", Kind: "DeploymentList"}
		deployments, err = kubeapi.Collect(ctx, o.Client, r, func(l *appsv1.DeploymentList, kept []workload) []workload { return keepDeployments(l, kept) })
		return err
	})
	return append(sets, deployments...), err
}

// podsOf returns the managers among the pods with any of the labels; one that has
// several is there several times.
func (o *Observer) podsOf(ctx context.Context, selectors []string) ([]observation.Manager, error) {
	found, asks := make([][]observation.Manager, len(selectors)), make([]func() error, len(selectors))
	for i, selector := range selectors {
		asks[i] = func() (err error) { found[i], err = o.podsWith(ctx, selector); return err }
	}
	err := atOnce(asks...)
	return append([]observation.Manager{}, slices.Concat(found...)...), err
}

func (o *Observer) podsWith(ctx context.Context, selector string) ([]observation.Manager, error) {
	r := kubeapi.Resource{What: "list pods in kube-system", Path: "/api/v1/namespaces/kube-system/pods", Kind: "PodList", Query: url.Values{"labelSelector": {selector}}}
	var failed error
	find := func(name string) (map[string]string, bool) {
		data, there, err := o.configMap(ctx, name)
		if err != nil && failed == nil {
			failed = err
		}
		return data, there
	}
	managers, err := kubeapi.Collect(ctx, o.Client, r, func(l *corev1.PodList, kept []observation.Manager) []observation.Manager {
		for i := range l.Items {
			if m, is := keepManager(&l.Items[i], find); is {
				kept = append(kept, m)
			}
		}
		return kept
	})
	return managers, kubeapi.Joined([]error{err, failed})
}

// configMap reads the text of a ConfigMap; one that is not there has none.
func (o *Observer) configMap(ctx context.Context, name string) (map[string]string, bool, error) {
	m, err := o.getConfigMap(ctx, name)
	if err != nil || m == nil {
		return nil, false, err
	}
	return m.Data, true, nil
}

// getConfigMap returns nil for a ConfigMap that is not there.
func (o *Observer) getConfigMap(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	var m corev1.ConfigMap
	r := kubeapi.Request{What: "get configmaps in kube-system", Method: http.MethodGet, Path: "/api/v1/namespaces/kube-system/configmaps/" + url.PathEscape(name)}
	err := kubeapi.Get(ctx, o.Client, r, "ConfigMap", &m, m.Unmarshal)
	if kubeapi.HasStatus(err, http.StatusNotFound) {
		return nil, nil
	}
	return &m, err
}

func gitVersion(body []byte) (string, error) {
	var v version.Info
	if err := json.Unmarshal(body, &v); err != nil || v.GitVersion == "" {
		return "", errNoVersion
	}
	return v.GitVersion, nil
}
