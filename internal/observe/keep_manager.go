// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func keepLease(l *coordinationv1.Lease, kept []observed.Lease) []observed.Lease {
	if l.Namespace != managersNamespace {
		return kept
	}
	out := observed.Lease{Name: l.Name, Holder: redact.Text(ptr.Deref(l.Spec.HolderIdentity, "")), DurationSeconds: int(ptr.Deref(l.Spec.LeaseDurationSeconds, 0)), Transitions: int(ptr.Deref(l.Spec.LeaseTransitions, 0))}
	out.Renewed, out.Acquired = ptr.Deref(l.Spec.RenewTime, metav1.MicroTime{}).UTC(), ptr.Deref(l.Spec.AcquireTime, metav1.MicroTime{}).UTC()
	return append(kept, out)
}

// manager finds the container of a pod that runs a manager of this cluster.
func manager(namespace string, spec *corev1.PodSpec) (corev1.Container, string) {
	for _, c := range spec.Containers {
		command := slices.Concat(c.Command, c.Args)
		if name := check.Component(c.Image, command); name != "" && check.Serves(namespace, name, command) {
			return c, name
		}
	}
	return corev1.Container{}, ""
}

// configMap is the data of a ConfigMap.
type configMap struct {
	data   map[string]string // nil where there is none
	denied bool              // it may not be read
}

// configMaps finds a ConfigMap.
type configMaps func(namespace, name string) configMap

func keepManager(p *corev1.Pod, find configMaps) (observed.Manager, bool) {
	c, component := manager(p.Namespace, &p.Spec)
	if component == "" {
		return observed.Manager{}, false
	}
	m := observed.Manager{
		Component: component, Namespace: p.Namespace, Pod: p.Name, Node: p.Spec.NodeName, Image: c.Image, Hosts: hosts(p),
		Args: arguments(c), Account: p.Spec.ServiceAccountName, Running: p.Status.Phase == corev1.PodRunning,
	}
	m.Config, m.ConfigDenied = configOf(p, c, find)
	if _, m.Mirror = p.Annotations[corev1.MirrorPodAnnotationKey]; m.Mirror {
		m.Account = ""
	}
	s, _ := lists.Find(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
	m.Restarts, m.Container = int(s.RestartCount), s.ContainerID
	m.Ended = s.State.Waiting != nil || s.State.Terminated != nil
	if s.State.Waiting != nil {
		m.Waiting = s.State.Waiting.Reason
	}
	if t := s.LastTerminationState.Terminated; t != nil {
		m.RestartedAt = t.FinishedAt.Unix()
	}
	return m, true
}

// arguments returns what a container runs, as lines that may be shown. A secret may
// be an item of its own, after the flag that names it.
func arguments(c corev1.Container) []string {
	out, flag := []string{}, ""
	for _, a := range slices.Concat(c.Command, c.Args) {
		out = append(out, shown(flag, a))
		if flag = ""; strings.HasPrefix(a, "--") && !strings.Contains(a, "=") {
			flag = strings.TrimPrefix(a, "--")
		}
	}
	return out
}

// shown returns an argument without secrets, also where it is YAML or JSON. Of a text
// of several lines, such as a script, no decision reads more than the first one.
func shown(flag, argument string) string {
	name := ""
	if key, value, assigned := strings.Cut(argument, "="); assigned && strings.HasPrefix(key, "--") {
		name, flag, argument = key+"=", strings.TrimLeft(key, "-"), value
	}
	line, _, several := strings.Cut(argument, "\n")
	text, _ := redact.Value(flag, readable(line)).(string)
	if several {
		text += " " + redact.Mark
	}
	return name + text
}

// readable returns YAML or other text without secrets.
func readable(text string) string {
	d, err := yamledit.ParseString("", text)
	if err != nil {
		return redact.Text(text)
	}
	return redact.Document(d)
}

// hosts returns the names that a process in a pod takes for its host's. Under the
// host's network it is the machine's, of which the node's name is a form.
func hosts(p *corev1.Pod) []string {
	names := []string{p.Name, p.Spec.Hostname}
	if p.Spec.HostNetwork {
		short, _, _ := strings.Cut(p.Spec.NodeName, ".")
		names = []string{p.Spec.NodeName, short}
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "" })
	slices.Sort(names)
	return slices.Compact(names)
}

// configOf returns the configuration that a manager reads from a ConfigMap, and
// whether it may not be read.
func configOf(p *corev1.Pod, c corev1.Container, find configMaps) (text *string, denied bool) {
	file := check.ConfigFile(slices.Concat(c.Command, c.Args))
	if file == "" {
		return nil, false
	}
	for _, m := range c.VolumeMounts {
		key, below := strings.CutPrefix(file, strings.TrimSuffix(m.MountPath, "/")+"/")
		switch {
		case m.MountPath == file && m.SubPath != "":
			key = m.SubPath
		case m.MountPath == file:
			key = path.Base(file)
		case !below:
			continue
		}
		if text, denied = inVolume(p, m.Name, key, find); text != nil || denied {
			return text, denied
		}
	}
	return nil, false
}

func inVolume(p *corev1.Pod, volume, key string, find configMaps) (text *string, denied bool) {
	v, is := lists.Find(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume && v.ConfigMap != nil })
	if !is {
		return nil, false
	}
	for _, item := range v.ConfigMap.Items {
		if item.Path == key {
			key = item.Key
		}
	}
	found := find(p.Namespace, v.ConfigMap.Name)
	if content, set := found.data[key]; set {
		text = new(readable(content))
	}
	return text, found.denied
}

func keepDaemonSet(d *appsv1.DaemonSet, kept []observed.DaemonSet) []observed.DaemonSet {
	c, component := manager(d.Namespace, &d.Spec.Template.Spec)
	if component != observed.CloudManager {
		return kept
	}
	return append(kept, observed.DaemonSet{
		Namespace: d.Namespace, Name: d.Name, Image: c.Image, Args: arguments(c),
		Observed: d.Status.ObservedGeneration >= d.Generation,
		Desired:  int(d.Status.DesiredNumberScheduled), Updated: int(d.Status.UpdatedNumberScheduled), Ready: int(d.Status.NumberReady),
	})
}

// workload is what makes pods, with the labels of those.
type workload struct {
	daemonSet *observed.DaemonSet
	namespace string
	selector  *metav1.LabelSelector
}

func keepDaemonSetPods(d *appsv1.DaemonSet, kept []workload) []workload {
	return append(kept, lists.Map(keepDaemonSet(d, nil), func(s observed.DaemonSet) workload { return workload{&s, d.Namespace, d.Spec.Selector} })...)
}

func keepDeploymentPods(d *appsv1.Deployment, kept []workload) []workload {
	if _, component := manager(d.Namespace, &d.Spec.Template.Spec); component != "" {
		kept = append(kept, workload{namespace: d.Namespace, selector: d.Spec.Selector})
	}
	return kept
}
