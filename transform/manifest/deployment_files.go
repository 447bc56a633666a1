// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/transform/action"
)

// moveFiles lets volumes of the host become Secrets where arguments name files in
// them, and a ConfigMap where they hold the configuration of leader migration.
// Volumes of which no argument names a file stay: the folders of public
// certificates are on every node. It returns the commands that make the objects.
func (m *Manifest) moveFiles(pod *corev1.PodSpec) (commands []string) {
	container := &pod.Containers[m.program.container.Index()]
	for i := range container.VolumeMounts {
		mount := &container.VolumeMounts[i]
		v := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if v < 0 || pod.Volumes[v].HostPath == nil {
			continue
		}
		host, files := pod.Volumes[v].HostPath.Path, m.filesBelow(mount.MountPath)
		switch {
		case len(files) == 0:
			continue
		case len(files) == 1 && files[0] == mount.MountPath:
			mount.SubPath = path.Base(files[0])
		}
		mount.ReadOnly = true
		source, command := m.object(*mount, host, files)
		pod.Volumes[v].VolumeSource, commands = source, append(commands, command)
	}
	return commands
}

// object returns the source that takes the place of a volume of the host with files, which are as the container sees them, and
// the command that makes it.
func (m *Manifest) object(mount corev1.VolumeMount, host string, files []string) (corev1.VolumeSource, string) {
	name := kubeManager + "-" + mount.Name
	var items []corev1.KeyToPath
	var from []string
	for _, f := range files {
		below := strings.TrimPrefix(f, mount.MountPath)
		inside := cmp.Or(strings.TrimPrefix(below, "/"), path.Base(f))
		key := strings.ReplaceAll(inside, "/", "-")
		items = append(items, corev1.KeyToPath{Key: key, Path: inside})
		from = append(from, "--from-file="+key+"="+host+below)
	}
	kind, source := []string{"secret", "generic"}, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name, Items: items}}
	if a, found := m.flag(configFlag); found && slices.Equal(files, []string{a.Value}) {
		kind, source = []string{"configmap"}, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: items}}
	}
	return source, action.Words(slices.Concat([]string{"kubectl", "-n", m.namespace(), "create"}, kind, []string{name}, from)...)
}

// filesBelow returns the files that arguments name at a path or below it, sorted.
func (m *Manifest) filesBelow(at string) []string {
	var files []string
	for _, a := range m.arguments.List() {
		if f := a.Value; namesFile(a.Name) && (f == at || strings.HasPrefix(f, strings.TrimSuffix(at, "/")+"/")) {
			files = append(files, f)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(files)))
}

// heading says in comments what is to be known and done before the Deployment is
// applied.
func (m *Manifest) heading(d appsv1.Deployment, s Scaling, commands []string) string {
	lines := []string{
		fmt.Sprintf("One of the %d replicas is active at a time; the others wait for its lease. More replicas make the change", s.Replicas),
		"of the leader faster, not the work.",
		"",
		"Only a running kube-controller-manager creates these pods, so the Deployment cannot recover by",
		"itself: if all managers are lost, start one manually. Keep the manifest of the static",
		"pod on one control-plane node, outside of the kubelet's folder.",
		"",
		fmt.Sprintf("It needs %d nodes, because the pods listen on one port (%d, so that they can start with the static", s.Replicas, m.port()),
		"pods). Apply it, wait until all pods run, and then remove the static pods, one control-plane",
		"node at a time:",
		"",
		"  " + action.Command("kubectl -n %s rollout status deployment/%s", d.Namespace, d.Name),
		"  mv /etc/kubernetes/manifests/kube-controller-manager.yaml /etc/kubernetes/",
	}
	if len(commands) > 0 {
		lines = append(lines, "", "First, on a control-plane node, create the objects with its files. The server in a",
			"kubeconfig must be an address that every node can reach, not that of the control-plane node itself.", "")
		for _, c := range commands {
			lines = append(lines, "  "+c)
		}
	}
	if s.Certificates == FromHostPath {
		lines = append(lines, "", "It reads keys and certificates from its host, so it runs only on control-plane nodes.")
	}
	var b strings.Builder
	for _, l := range strings.Split(strings.Join(lines, "\n"), "\n") {
		b.WriteString(strings.TrimRight("# "+l, " ") + "\n")
	}
	return b.String()
}
