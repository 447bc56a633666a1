// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rancher/wrangler/v3/pkg/data/convert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Where the pods of a Deployment take keys and certificates from.
const (
	FromSecret   = "secret"    // so that they may run on any node
	FromHostPath = "host-path" // of the control-plane nodes
)

// Scaling is how a static pod is to become a Deployment.
type Scaling struct {
	Replicas     int    // at least 2
	Certificates string // FromSecret or FromHostPath
}

const (
	portFlag = "secure-port"
	// portOfPod is where the manager of a static pod listens by default, and
	// portOfDeployment is free on a node that still has one.
	portOfPod        = 10257
	portOfDeployment = 10357
)

// Converted is a Deployment for a static pod, with what the rules find in it.
type Converted struct {
	Text     string
	Findings []transform.Finding
}

// Convert makes the Deployment of a static pod, and checks it.
func Convert(pod *yamledit.Document, s Scaling) (*Converted, error) {
	text, err := Deployment(pod, s)
	if err != nil {
		return nil, err
	}
	doc, err := yamledit.ParseString("Deployment", text)
	if err != nil {
		return nil, err
	}
	c, err := Format().Lint(transform.Only(doc), transform.Target{AssumeVersion: "v1.26.0"})
	if err != nil {
		return nil, fmt.Errorf("the printed Deployment cannot be read: %w", err)
	}
	findings := c.Findings("")
	slices.SortStableFunc(findings, func(a, b transform.Finding) int { return a.Line - b.Line })
	return &Converted{text, findings}, nil
}

// Deployment turns the static pod of a kube-controller-manager into a Deployment:
// YAML with comments that say what is to be known before it is applied. It fails
// for other manifests, and for fields that the API does not know.
func Deployment(doc *yamledit.Document, s Scaling) (string, error) {
	m, err := Open(doc, "v"+assumedMinor)
	switch {
	case err != nil:
		return "", err
	case m.Kind != kindPod || m.Component != kubeManager:
		return "", transform.NotMigratable(m.Root.Get("kind"), "no static pod of "+kubeManager, "name the manifest of one")
	}
	if m, err = m.onOtherPort(); err != nil {
		return "", err
	}
	pod, _, _ := k8s.Decode[corev1.Pod](m.Root)                 // as Open did
	if err := (k8s.Strictness{}).Allows(m.strict); err != nil { // no field that is unknown
		return "", m.Root.Errorf(err.Error(), "correct the name of the field, or remove it")
	}
	d := m.scaled(pod, s)
	var commands []string
	if s.Certificates == FromSecret {
		commands = m.moveFiles(&d.Spec.Template.Spec)
	}
	return m.heading(d, s, commands) + render(d), nil
}

// assumedMinor replaces the release of an image without a tag: nothing in a
// Deployment depends on it.
const assumedMinor = "1.26.0"

// onOtherPort moves a manager off the port of the static pods, which run next to
// the Deployment until they are taken away.
func (m *Manifest) onOtherPort() (*Manifest, error) {
	if a, set := m.flag(portFlag); set && a.Value != strconv.Itoa(portOfPod) {
		return m, nil
	}
	e := m.Doc.Edit()
	m.arguments.Apply(e, args.Update{Set: []args.Arg{args.With(portFlag, strconv.Itoa(portOfDeployment))}})
	after, _, err := e.Apply()
	if err != nil {
		return nil, err
	}
	return Open(after, "v"+assumedMinor)
}

// port is where the manager listens.
func (m *Manifest) port() int {
	a, _ := m.flag(portFlag)
	n, err := strconv.Atoi(a.Value)
	if err != nil {
		return portOfPod
	}
	return n
}

// scaled returns the Deployment of a pod. One pod runs on a host, because all of
// them listen on one port; so a rollout stops one before it starts the next, and
// at least one old manager continues, which creates it.
func (m *Manifest) scaled(pod corev1.Pod, s Scaling) appsv1.Deployment {
	replicas, one, none := int32(s.Replicas), intstr.FromInt32(1), intstr.FromInt32(0)
	chosen := map[string]string{"component": kubeManager}
	labels := map[string]string{"tier": "control-plane"}
	maps.Copy(labels, pod.Labels)
	maps.Copy(labels, chosen)
	meta := metav1.ObjectMeta{Name: pod.Name, Namespace: m.namespace(), Labels: labels}
	spec := pod.Spec
	spec.NodeName, spec.Priority = "", nil // the scheduler and the API server set them
	spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"component": kubeManager, "workload": "deployment"}}, TopologyKey: "kubernetes.io/hostname",
		}},
	}}
	spec.PriorityClassName = cmp.Or(spec.PriorityClassName, "system-cluster-critical")
	if s.Certificates == FromHostPath {
		spec.NodeSelector = map[string]string{controlPlaneLabel: ""}
	}
	m.probe(&spec.Containers[m.program.container.Index()])
	inside := maps.Clone(labels)
	inside["workload"], chosen["workload"] = "deployment", "deployment"
	return appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: kindDeployment},
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: chosen},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &one, MaxSurge: &none}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: inside}, Spec: spec},
		},
	}
}

// probe lets the probes ask where the manager listens, and adds those of kubeadm
// where there are none.
func (m *Manifest) probe(c *corev1.Container) {
	add := func(p *corev1.Probe, failures int32) *corev1.Probe {
		if p == nil {
			p = &corev1.Probe{InitialDelaySeconds: 10, TimeoutSeconds: 15, PeriodSeconds: 10, FailureThreshold: failures}
			p.HTTPGet = &corev1.HTTPGetAction{Host: "127.0.0.1", Path: "/healthz", Port: intstr.FromInt(m.port()), Scheme: corev1.URISchemeHTTPS}
		}
		if p.HTTPGet != nil && p.HTTPGet.Port.IntValue() == portOfPod {
			p.HTTPGet.Port = intstr.FromInt(m.port())
		}
		return p
	}
	c.LivenessProbe = add(c.LivenessProbe, 8)
	c.StartupProbe = add(c.StartupProbe, 24)
	if c.ReadinessProbe != nil {
		c.ReadinessProbe = add(c.ReadinessProbe, 3)
	}
}

// render writes an object without what only a server fills in.
func render(d appsv1.Deployment) string {
	var fields map[string]any
	_ = convert.ToObj(d, &fields) // objects of Kubernetes can always be written
	delete(fields, "status")
	text, _ := sigsyaml.Marshal(fields)
	return string(text)
}

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
		lines = append(lines, lists.Map(commands, func(c string) string { return "  " + c })...)
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
