// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/aws"
	"github.com/rke-lm/rke-lm/lab/cluster"
)

// images have the versions of the managers, which no one pulls here.
var images = map[cluster.Component]string{
	cluster.KCM: "rancher/hardened-kubernetes:v1.26.15-rke2r1",
	cluster.CCM: "registry.k8s.io/provider-aws/cloud-controller-manager:",
}

// kubelets show the managers as pods, as far as the agent's machines run them.
type kubelets struct {
	*scenario
	node  string
	shown map[string]shown
}

// shown is a pod as it was last written.
type shown struct {
	agent.Container
	alive bool
}

// kubelets shows every manager as a pod on a node until the test ends: as kubelets show static pods, with
// what they report about containers that end.
func (s *scenario) kubelets(node aws.Instance) {
	k := &kubelets{s, node.Name, map[string]shown{}}
	s.meanwhile(100*time.Millisecond, k.show)
}

// show brings the pods to what runs.
func (k *kubelets) show(ctx context.Context) error {
	there := map[string]shown{}
	for _, c := range k.agent.Containers() {
		if k.docker && c.Component == cluster.KCM {
			continue
		}
		there[k.podOf(c)] = shown{c, c.Alive()}
	}
	for name, old := range maps.Clone(k.shown) {
		if now, runs := there[name]; runs && old.same(now) {
			continue
		}
		if err := k.client.CoreV1().Pods(k.spaceOf(old.Component)).Delete(ctx, name, *metav1.NewDeleteOptions(0)); err != nil {
			return err
		}
		delete(k.shown, name)
	}
	for name, now := range there {
		if err := k.write(ctx, name, now); err != nil {
			return err
		}
	}
	return nil
}

// podOf returns the name of a manager's pod: a DaemonSet may have made it.
func (k *kubelets) podOf(c agent.Container) string {
	if made := k.chartPod.Load(); made != nil && c.Component == cluster.CCM {
		return *made
	}
	return string(c.Component) + "-" + c.Machine
}

// same reports whether it is still the same pod: one that changes is made again.
func (s shown) same(o shown) bool { return s.Minor == o.Minor && slices.Equal(s.Args, o.Args) }

// write makes a pod that is not there, and its status where that has changed.
func (k *kubelets) write(ctx context.Context, name string, now shown) error {
	old, there := k.shown[name]
	if there && old.alive == now.alive && old.Restarts == now.Restarts {
		return nil
	}
	pods := k.client.CoreV1().Pods(k.spaceOf(now.Component))
	if !there && k.static(name) {
		if _, err := pods.Create(ctx, mirror(k.spaceOf(now.Component), name, k.node, now.Container), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	status, err := json.Marshal(corev1.Pod{Status: now.status()})
	if err != nil {
		return err
	}
	if _, err := pods.Patch(ctx, name, types.StrategicMergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		return err
	}
	k.shown[name] = now
	return nil
}

// static reports whether a pod comes from a file of its machine.
func (k *kubelets) static(name string) bool {
	made := k.chartPod.Load()
	return made == nil || *made != name
}

// spaceOf returns the namespace of a manager's pods.
func (k *kubelets) spaceOf(c cluster.Component) string {
	if c == cluster.CCM && k.space != "" {
		return k.space
	}
	return metav1.NamespaceSystem
}

func mirror(space, name, node string, c agent.Container) *corev1.Pod {
	image := images[c.Component]
	if c.Component == cluster.CCM {
		image += c.Minor + ".0"
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: space, Labels: map[string]string{"component": string(c.Component)}, Annotations: map[string]string{corev1.MirrorPodAnnotationKey: name}},
		Spec: corev1.PodSpec{NodeName: node, HostNetwork: true, Containers: []corev1.Container{{
			Name: container, Image: image, Command: []string{string(c.Component)}, Args: c.Args,
		}}},
	}
}

// container is the name of the only one in a pod.
const container = "aws-cloud-controller-manager"

// status is what a kubelet reports about the container: one that has ended waits to be started again.
func (s shown) status() corev1.PodStatus {
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(s.Started)}}
	if !s.alive {
		state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	}
	c := corev1.ContainerStatus{Name: container, ContainerID: fmt.Sprintf("containerd://%016x", s.Started.UnixNano()), State: state, Ready: s.alive, RestartCount: int32(s.Restarts)}
	if !s.Last.IsZero() {
		c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.NewTime(s.Last)}
	}
	ready := corev1.ConditionFalse
	if s.alive {
		ready = corev1.ConditionTrue
	}
	return corev1.PodStatus{
		Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{c},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
	}
}
