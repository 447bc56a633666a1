// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/deploy"
)

// applyChart writes what the chart makes with its DaemonSet: the service account and its rights. The
// rules are the chart's own where the values state none: Helm replaces lists.
func applyChart(ctx context.Context, to *deploy.Applier, chart *Chart) error {
	text, err := build.ChartValues(ctx)
	if err != nil {
		return err
	}
	var defaults map[string]any
	if err := yaml.Unmarshal(text, &defaults); err != nil {
		return fmt.Errorf("agent: the chart's values: %w", err)
	}
	rules := defaults["clusterRoleRules"]
	if values, ok := chart.Values.(map[string]any); ok && values["clusterRoleRules"] != nil {
		rules = values["clusterRoleRules"]
	}
	for _, o := range chartObjects(rules) {
		text, err := yaml.Marshal(o)
		if err != nil {
			return err
		}
		if err := to.Apply(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// chartObjects are the service account, its role and its bindings.
func chartObjects(rules any) []map[string]any {
	const account, role, group = "cloud-controller-manager", "system:cloud-controller-manager", "rbac.authorization.k8s.io"
	object := func(version, kind, name string, more map[string]any) map[string]any {
		o := map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name, "namespace": metav1.NamespaceSystem}}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	subjects := []any{map[string]any{"kind": "ServiceAccount", "name": account, "namespace": metav1.NamespaceSystem}}
	binding := func(kind, name string) map[string]any {
		return map[string]any{"subjects": subjects, "roleRef": map[string]any{"apiGroup": group, "kind": kind, "name": name}}
	}
	return []map[string]any{
		object("v1", "ServiceAccount", account, nil),
		object(group+"/v1", "RoleBinding", account+":apiserver-authentication-reader", binding("Role", "extension-apiserver-authentication-reader")),
		clusterWide(object(group+"/v1", "ClusterRole", role, map[string]any{"rules": rules})),
		clusterWide(object(group+"/v1", "ClusterRoleBinding", role, binding("ClusterRole", role))),
	}
}

func clusterWide(o map[string]any) map[string]any {
	o["metadata"] = map[string]any{"name": o["metadata"].(map[string]any)["name"]}
	return o
}

// applyAll writes a cluster's manifests and what its chart makes.
func applyAll(ctx context.Context, to *deploy.Applier, w Wanted) error {
	for _, d := range w.Manifests {
		if err := to.Apply(ctx, d.Bytes()); err != nil {
			return err
		}
	}
	if w.CCM == nil {
		return nil
	}
	return applyChart(ctx, to, w.CCM)
}
