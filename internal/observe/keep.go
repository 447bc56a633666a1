// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
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

var keptLabels = append([]string{
	observed.ZoneLabel, observed.OldZoneLabel, observed.RegionLabel, observed.InstanceTypeLabel, observed.EtcdLabel, observed.HostLabel,
}, observed.ControlPlaneLabels...)

func keepNode(n *corev1.Node, kept []observed.Node) []observed.Node {
	internal, _ := lists.Find(n.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
	out := observed.Node{
		Name: n.Name, UID: string(n.UID), ProviderID: redact.Text(n.Spec.ProviderID), Address: internal.Address,
		Unschedulable: n.Spec.Unschedulable, Cordoned: n.Annotations[action.CordonAnnotation],
		Ready: ready(n), InTreeVolumes: inTreeVolumes(n), Registries: registries(n),
		Taints: lists.Map(n.Spec.Taints, func(t corev1.Taint) string { return t.Key }),
	}
	for _, l := range keptLabels {
		if v, set := n.Labels[l]; set {
			if out.Labels == nil {
				out.Labels = map[string]string{}
			}
			out.Labels[l] = v
		}
	}
	if strings.Contains(n.Status.NodeInfo.KubeletVersion, "+rke") {
		delete(out.Labels, observed.HostLabel) // RKE2 sets it to the name of the Node (k3s pkg/daemons/agent)
	}
	for annotation, args := range n.Annotations {
		if strings.HasSuffix(annotation, nodeArgs) {
			delete(out.Labels, observed.HostLabel)
			out.NodeName = nodeName(args)
		}
	}
	return append(kept, out)
}

// nodeArgs ends the name of the annotation in which RKE2 and K3s write their arguments, with those of their files of
// configuration, on every Node (k3s pkg/nodeconfig).
const nodeArgs = ".io/node-args"

// nodeName is the node-name in the arguments of RKE2; "" for none.
func nodeName(args string) (name string) {
	var list []string
	if json.Unmarshal([]byte(args), &list) != nil {
		return ""
	}
	for i, a := range list {
		flag, value, joined := strings.Cut(a, "=")
		switch {
		case flag != "--node-name":
		case joined:
			name = value
		case i+1 < len(list):
			name = list[i+1]
		}
	}
	return redact.Text(strings.ToLower(name))
}

// ready keeps the condition by which a node says that it works; nil where it has none.
func ready(n *corev1.Node) *observed.Condition {
	c, has := lists.Find(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if !has {
		return nil
	}
	return &observed.Condition{Status: string(c.Status), Reason: word(c.Reason), Since: c.LastTransitionTime.UTC()}
}

// word keeps a reason that is one, as all of Kubernetes' own are: the API server
// takes any text, and a sentence might quote a secret.
func word(reason string) string {
	if strings.ContainsFunc(reason, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		return ""
	}
	return redact.Text(reason)
}

func inTreeVolumes(n *corev1.Node) int {
	attached := lists.Map(n.Status.VolumesAttached, func(v corev1.AttachedVolume) corev1.UniqueVolumeName { return v.Name })
	all := lists.Distinct(slices.Concat(n.Status.VolumesInUse, attached))
	return len(slices.DeleteFunc(all, func(v corev1.UniqueVolumeName) bool { return !strings.HasPrefix(string(v), aws.InTreeVolumes+"/") }))
}

func registries(n *corev1.Node) []string {
	var hosts []string
	for _, image := range n.Status.Images {
		for _, name := range image.Names {
			if host, in := aws.Registry(name); in {
				hosts = append(hosts, host)
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(hosts)))
}

func keepVolume(v *corev1.PersistentVolume, kept []observed.Volume) []observed.Volume {
	if v.Spec.AWSElasticBlockStore != nil {
		kept = append(kept, observed.Volume{Kind: observed.Volumes, Name: v.Name})
	}
	return kept
}

// keepInline keeps a pod that names an in-tree volume itself.
func keepInline(p *corev1.Pod, kept []observed.Volume) []observed.Volume {
	if slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.AWSElasticBlockStore != nil }) {
		kept = append(kept, observed.Volume{Kind: observed.Pods, Name: p.Namespace + "/" + p.Name})
	}
	return kept
}

func keepClass(c *storagev1.StorageClass, kept []string) []string {
	if c.Provisioner == aws.InTreeVolumes {
		kept = append(kept, c.Name)
	}
	return kept
}

func keepDrivers(n *storagev1.CSINode, kept []observed.NodeDrivers) []observed.NodeDrivers {
	drivers := lists.Map(n.Spec.Drivers, func(d storagev1.CSINodeDriver) string { return d.Name })
	return append(kept, observed.NodeDrivers{Node: n.Name, Drivers: append([]string{}, drivers...)})
}
