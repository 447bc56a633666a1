// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"path"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
)

// Rendered is what the chart installs.
type Rendered struct {
	DaemonSet   appsv1.DaemonSet
	Account     corev1.ServiceAccount
	Role        rbacv1.ClusterRole
	RoleBinding rbacv1.ClusterRoleBinding
	Reader      rbacv1.RoleBinding // to the configuration of extension API servers
}

// Render renders a chart with a file of values for a cluster's minor, such as
// "v1.26", as helm upgrade --install does. Every object must decode strictly, and
// none may be of another kind.
func Render(c *helmchart.Chart, values, minor string) (Rendered, error) {
	var r Rendered
	own, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		return r, err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = chartutil.KubeVersion{Version: minor + ".0"}
	release := chartutil.ReleaseOptions{Name: chartName, Namespace: "kube-system", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, own, release, capabilities)
	if err != nil {
		return r, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return r, err
	}
	for name, text := range files {
		if path.Ext(name) != ".yaml" {
			continue
		}
		for _, document := range releaseutil.SplitManifests(text) {
			if err := r.add([]byte(document)); err != nil {
				return r, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return r, r.complete()
}

// add decodes one object.
func (r *Rendered) add(text []byte) error {
	var kind struct{ Kind string }
	if err := yaml.Unmarshal(text, &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "DaemonSet":
		return yaml.UnmarshalStrict(text, &r.DaemonSet)
	case "ServiceAccount":
		return yaml.UnmarshalStrict(text, &r.Account)
	case "ClusterRole":
		return yaml.UnmarshalStrict(text, &r.Role)
	case "ClusterRoleBinding":
		return yaml.UnmarshalStrict(text, &r.RoleBinding)
	case "RoleBinding":
		return yaml.UnmarshalStrict(text, &r.Reader)
	case "":
		return nil // separators only
	}
	return fmt.Errorf("an unexpected object of kind %s", kind.Kind)
}

// complete requires that all objects are there and belong together.
func (r *Rendered) complete() error {
	pod := r.DaemonSet.Spec.Template.Spec
	account := rbacv1.Subject{Kind: "ServiceAccount", Name: r.Account.Name, Namespace: r.Account.Namespace}
	switch {
	case r.DaemonSet.Name != chartName || r.DaemonSet.Namespace != "kube-system":
		return fmt.Errorf("the DaemonSet is %s/%s", r.DaemonSet.Namespace, r.DaemonSet.Name)
	case len(pod.Containers) != 1 || pod.Containers[0].Name != chartName:
		return fmt.Errorf("the pod has %d containers", len(pod.Containers))
	case pod.ServiceAccountName != r.Account.Name || r.Account.Namespace != r.DaemonSet.Namespace:
		return fmt.Errorf("the pod runs as %s, not as %s/%s", pod.ServiceAccountName, r.Account.Namespace, r.Account.Name)
	case r.RoleBinding.RoleRef.Name != r.Role.Name || !slices.Contains(r.RoleBinding.Subjects, account):
		return fmt.Errorf("the permissions are not those of %s", r.Account.Name)
	case r.Reader.RoleRef.Name != "extension-apiserver-authentication-reader" || !slices.Contains(r.Reader.Subjects, account):
		return fmt.Errorf("%s cannot read the configuration of extension API servers", r.Account.Name)
	}
	return nil
}

// Container is the manager's.
func (r *Rendered) Container() corev1.Container { return r.DaemonSet.Spec.Template.Spec.Containers[0] }

// Mounted returns the volume that holds a file in the manager's container, and
// what the file is called in it.
func (r *Rendered) Mounted(file string) (volume corev1.Volume, key string, ok bool) {
	for _, m := range r.Container().VolumeMounts {
		if m.MountPath != path.Dir(file) {
			continue
		}
		for _, v := range r.DaemonSet.Spec.Template.Spec.Volumes {
			if v.Name == m.Name {
				return v, path.Base(file), m.ReadOnly
			}
		}
	}
	return volume, "", false
}
