// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/rancher/wrangler/v3/pkg/data/convert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
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
	pod, _, _ := k8s.Decode[corev1.Pod](m.Root) // as Open did
	const ofPod = "a Pod of v1"
	_, has := k8s.DecodeStrict[corev1.Pod](m.Root, ofPod)
	if err := k8s.NewStrictness(ofPod, nil, nil).Allows(has); err != nil { // no field that is unknown
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
