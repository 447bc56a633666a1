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
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// workloadRules are those about how a manager runs.
func workloadRules() []rule {
	return []rule{
		// It finds a file that no volume brings: then it is in the image.
		{Rule: transform.Rule{ID: "certificates-in-image", Severity: transform.Warning, Guards: rules.FlagEdits,
			Doc: "Arguments of a Deployment or DaemonSet name files that no volume mounts, so keys and certificates are in the image: everyone who can pull it has them, and they expire with it."}.Because(
			"Everyone who can pull the image has the keys of the control plane, and they expire with the image.", "kubernetes docs: PKI certificates", "Mount them from a Secret.", "If the image is private and its keys are replaced with it."),
			Check: func(m *migration, found *transform.Findings) {
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
			}},
		{Rule: transform.Rule{ID: "circular-dependency", Severity: transform.Warning, Guards: rules.FlagEdits,
			Doc: "kube-controller-manager runs from a Deployment, whose pods only a running kube-controller-manager creates: once all of them are lost, nothing creates a new one."}.Because(
			"Only a running kube-controller-manager creates pods of a Deployment: once all are gone, none returns.", "kubernetes/kubernetes pkg/controller/replicaset", "Keep a static pod on one node, or store its manifest elsewhere.", "If there is a written way to start one manually."),
			Check: func(m *migration, found *transform.Findings) {
				if _, is := m.deployment(); is {
					found.At(m.Root.Get("kind"), "only a running kube-controller-manager creates the pods of this Deployment: if all of them are lost, nothing creates a new one", "keep a static pod of kube-controller-manager ready on one control-plane node, outside of the kubelet's folder")
				}
			}},
		// It finds a rollout that stops the last manager before the first new pod
		// is there: the ReplicaSet controller, which makes it, is in that manager.
		{Rule: transform.Rule{ID: "deployment-deadlock", Severity: transform.Error, Guards: rules.FlagEdits,
			Doc: "The Deployment of kube-controller-manager has one replica, the strategy Recreate, or lets as many pods go as there are: the manager that would create the new pods is stopped first."}.Because(
			"The rollout stops the manager that would create the new pods, and waits for pods that no one creates.", "kubernetes/kubernetes pkg/controller/deployment", "Use two replicas or more, RollingUpdate, and maxUnavailable below the number of replicas.", "Never while it is the only manager."),
			Check: func(m *migration, found *transform.Findings) {
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
			}},
		{Rule: transform.Rule{ID: "host-path-in-deployment", Severity: transform.Warning, Guards: rules.FlagEdits,
			Doc: "A Deployment mounts host paths: its pods can be scheduled to nodes that lack the files, or have different ones."}.Because(
			"A pod on a node that lacks the files, or has other ones, does not start or uses wrong keys.", "kubernetes docs: hostPath", "Use a ConfigMap or a Secret, or select nodes that have the files.", "If all selected nodes have the same files."),
			Check: func(m *migration, found *transform.Findings) {
				_, is := m.deployment()
				for _, v := range m.pod.Get("volumes").Items() {
					if at := v.Get("hostPath"); is && at.Exists() {
						found.At(at, "the pods read this from whatever host they are scheduled to", "use a Secret or a ConfigMap, or select nodes that have it")
					}
				}
			}},
		{Rule: transform.Rule{ID: "host-pinned", Severity: transform.Warning, Guards: rules.FlagEdits,
			Doc: "A Deployment selects one host by its name, so that all replicas fail with that host."}.Because(
			"All replicas fail with one host.", "kubernetes docs: assigning pods to nodes", "Select control planes by their role.", "If there is one control plane."),
			Check: func(m *migration, found *transform.Findings) {
				at := yamledit.First(m.pod.Get("nodeSelector", "kubernetes.io/hostname"), m.pod.Get("nodeName"))
				if _, is := m.deployment(); is && at.Exists() {
					found.At(at, "all replicas run on one host and fail with it", "select the control planes by their label, node-role.kubernetes.io/control-plane")
				}
			}},
		{Rule: transform.Rule{ID: "one-active-replica", Severity: transform.Note, Guards: rules.FlagEdits,
			Doc: "A Deployment of kube-controller-manager has several replicas, of which one works: the others wait for its lease, and make the change of the leader faster, not the work."}.Because(
			"One replica holds the lease and does all of the work.", "kubernetes docs: leases", "Nothing.", "Always; it informs."),
			Check: func(m *migration, found *transform.Findings) {
				if d, is := m.deployment(); is && d.Replicas != nil && *d.Replicas > 1 {
					found.At(m.Root.Get("spec", "replicas"), fmt.Sprintf("one of the %d replicas is active, the others wait for its lease", *d.Replicas), "nothing: more replicas make the change of the leader faster, not the work")
				}
			}},
	}
}

// deployment returns the Deployment of a kube-controller-manager.
func (m *migration) deployment() (appsv1.DeploymentSpec, bool) {
	if m.Kind != kindDeployment || m.Component != kubeManager {
		return appsv1.DeploymentSpec{}, false
	}
	d, _, what := k8s.Decode[appsv1.Deployment](m.Root)
	return d.Spec, what == ""
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

// namesFile reports whether the value of a flag is a file that a manager needs.
func namesFile(flag string) bool {
	return slices.ContainsFunc([]string{"-file", "kubeconfig", providerConfigFlag, configFlag}, func(end string) bool { return strings.HasSuffix(flag, end) })
}

// providerConfigFlag names the file of the in-tree provider's configuration.
const providerConfigFlag = "cloud-config"
