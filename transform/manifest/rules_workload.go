// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// deployment returns the Deployment of a kube-controller-manager.
func (m *migration) deployment() (appsv1.DeploymentSpec, bool) {
	if m.Kind != kindDeployment || m.Component != kubeManager {
		return appsv1.DeploymentSpec{}, false
	}
	d, _, what := k8s.Decode[appsv1.Deployment](m.Root)
	return d.Spec, what == ""
}

// deadlock finds a rollout that stops the last manager before the first new pod
// is there: the ReplicaSet controller, which makes it, is in that manager.
func (m *migration) deadlock(found *transform.Findings) {
	d, is := m.deployment()
	if !is {
		return
	}
	replicas := 1
	if d.Replicas != nil {
		replicas = int(*d.Replicas)
	}
	const why = ", and the manager that would create the new one is the one that stops"
	spec := m.Root.Get("spec")
	switch at := spec.Get("strategy", "rollingUpdate", "maxUnavailable"); {
	case d.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		found.At(spec.Get("strategy"), "the strategy Recreate stops all pods before a new one is created"+why, "use RollingUpdate with maxUnavailable: 0")
	case replicas < 2:
		found.At(yamledit.First(spec.Get("replicas"), spec), "there is one replica"+why, "set replicas: 2 or more, so that one waits while the other is replaced")
	case unavailable(d, replicas) >= replicas:
		found.At(at, "all pods may stop before a new one is created"+why, "set maxUnavailable: 0")
	}
}

// unavailable returns how many pods a rollout may stop, as the Deployment
// controller computes it: 25 %, rounded down, unless it is set.
func unavailable(d appsv1.DeploymentSpec, replicas int) int {
	most := intstr.FromString("25%")
	if u := d.Strategy.RollingUpdate; u != nil && u.MaxUnavailable != nil {
		most = *u.MaxUnavailable
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(&most, replicas, false)
	if err != nil {
		return replicas
	}
	return n
}

func (m *migration) circular(found *transform.Findings) {
	if _, is := m.deployment(); is {
		found.At(m.Root.Get("kind"), "only a running kube-controller-manager creates the pods of this Deployment: if all of them are lost, nothing creates a new one", "keep a static pod of kube-controller-manager ready on one control-plane node, outside of the kubelet's folder")
	}
}

func (m *migration) oneActive(found *transform.Findings) {
	if d, is := m.deployment(); is && d.Replicas != nil && *d.Replicas > 1 {
		found.At(m.Root.Get("spec", "replicas"), fmt.Sprintf("one of the %d replicas is active, the others wait for its lease", *d.Replicas), "nothing: more replicas make the change of the leader faster, not the work")
	}
}

func (m *migration) pinned(found *transform.Findings) {
	at := yamledit.First(m.pod.Get("nodeSelector", "kubernetes.io/hostname"), m.pod.Get("nodeName"))
	if _, is := m.deployment(); is && at.Exists() {
		found.At(at, "all replicas run on one host and fail with it", "select the control planes by their label, node-role.kubernetes.io/control-plane")
	}
}

func (m *migration) hostPaths(found *transform.Findings) {
	_, is := m.deployment()
	for _, v := range m.pod.Get("volumes").Items() {
		if at := v.Get("hostPath"); is && at.Exists() {
			found.At(at, "the pods read this from whatever host they are scheduled to", "use a Secret or a ConfigMap, or select nodes that have it")
		}
	}
}

// namesFile reports whether the value of a flag is a file that a manager needs.
func namesFile(flag string) bool {
	return slices.ContainsFunc([]string{"-file", "kubeconfig", providerConfigFlag, configFlag}, func(end string) bool { return strings.HasSuffix(flag, end) })
}

// providerConfigFlag names the file of the in-tree provider's configuration.
const providerConfigFlag = "cloud-config"

// baked finds a file that no volume brings: then it is in the image.
func (m *migration) baked(found *transform.Findings) {
	if m.Kind != kindDeployment && m.Kind != kindDaemonSet {
		return
	}
	var missing []string
	for _, a := range m.arguments.List() {
		if namesFile(a.Name) && a.Name != configFlag && path.IsAbs(a.Value) && !m.mounted(a.Value) {
			missing = append(missing, "--"+a.Name)
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		at := yamledit.First(m.program.container.Get("image"), m.program.container)
		found.At(at, "no volume mounts the files of "+strings.Join(slices.Compact(missing), ", ")+", so they are in the image", "mount them from a Secret, and use the published image")
	}
}
