// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/transform/args"
)

// specOf reads the manager that a pod describes. Files that its arguments name are those that its volumes
// hold; they are put where the manager of that machine reads them.
func (k *Kubelets) specOf(ctx context.Context, pod *corev1.Pod) (cluster.Spec, error) {
	c := pod.Spec.Containers[0]
	tag := c.Image[strings.LastIndex(c.Image, ":")+1:]
	spec := cluster.Spec{Component: cluster.CCM, Machine: k.nodes[pod.Spec.NodeName], Minor: semver.MajorMinor(tag)}
	for _, text := range slices.Concat(c.Command, c.Args) {
		a := args.Parse(text)
		switch {
		case !strings.HasPrefix(text, "--"): // the program
		case !path.IsAbs(a.Value):
			spec.Args = append(spec.Args, text)
		default:
			content, err := k.content(ctx, pod, a.Value)
			if err != nil {
				return spec, err
			}
			if a.Name == "cloud-config" {
				spec.CloudConfig = content
				continue
			}
			file := filepath.Join(k.host, string(pod.UID), a.Value)
			if err := put(file, content); err != nil {
				return spec, err
			}
			spec.Args = append(spec.Args, "--"+a.Name+"="+file)
		}
	}
	return spec, nil
}

// content returns what a pod's container finds in a file.
func (k *Kubelets) content(ctx context.Context, pod *corev1.Pod, file string) (string, error) {
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		key, inside := strings.CutPrefix(file, mount.MountPath+"/")
		i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if !inside || i < 0 {
			continue
		}
		if source := pod.Spec.Volumes[i].Secret; source != nil {
			s, err := k.client.CoreV1().Secrets(pod.Namespace).Get(ctx, source.SecretName, metav1.GetOptions{})
			if err != nil {
				return "", err
			}
			return string(s.Data[key]), nil
		}
		if source := pod.Spec.Volumes[i].ConfigMap; source != nil {
			m, err := k.client.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, source.Name, metav1.GetOptions{})
			if err != nil {
				return "", err
			}
			return m.Data[key], nil
		}
	}
	return "", fmt.Errorf("agent: pod %s mounts nothing at %s", pod.Name, file)
}

// writeStatus writes a pod's status.
func (k *Kubelets) writeStatus(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase, ready bool) error {
	pod = pod.DeepCopy()
	status(pod, phase, ready)
	_, err := k.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

func status(pod *corev1.Pod, phase corev1.PodPhase, ready bool) {
	now, is := metav1.Now(), corev1.ConditionFalse
	if ready {
		is = corev1.ConditionTrue
	}
	pod.Status.Phase = phase
	if pod.Status.StartTime == nil {
		pod.Status.StartTime = &now
	}
	conditions := slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady || c.Type == corev1.ContainersReady
	})
	for _, t := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
		conditions = append(conditions, corev1.PodCondition{Type: t, Status: is, LastTransitionTime: now})
	}
	pod.Status.Conditions = conditions
	c := pod.Spec.Containers[0]
	container := corev1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: ready, Started: &ready}
	switch phase {
	case corev1.PodRunning:
		container.State.Running = &corev1.ContainerStateRunning{StartedAt: now}
	case corev1.PodFailed:
		container.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: now}
	case corev1.PodSucceeded:
		container.State.Terminated = &corev1.ContainerStateTerminated{FinishedAt: now}
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{container}
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// mirrors shows the static pods in the cluster: one mirror for what runs now, made again when its arguments
// change. The caller holds the lock.
func (k *Kubelets) mirrors(ctx context.Context, pods []corev1.Pod) error {
	var faults []error
	for node, machine := range k.nodes {
		s := k.static[machine]
		if k.Image == "" || s == nil {
			continue
		}
		want := k.mirror(node, s.spec)
		i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Name == want.Name })
		switch {
		case i < 0:
			faults = append(faults, k.show(ctx, want))
		case !slices.Equal(pods[i].Spec.Containers[0].Args, s.spec.Args):
			faults = append(faults, k.client.CoreV1().Pods(want.Namespace).Delete(ctx, want.Name, *metav1.NewDeleteOptions(0)))
		case podReady(&pods[i]) != s.current().Healthy(ctx):
			faults = append(faults, k.writeStatus(ctx, &pods[i], corev1.PodRunning, !podReady(&pods[i])))
		}
	}
	return errors.Join(faults...)
}

func (k *Kubelets) show(ctx context.Context, pod *corev1.Pod) error {
	made, err := k.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return k.writeStatus(ctx, made, corev1.PodRunning, false)
}

// mirror is what a kubelet shows of the static pod that RKE2 writes.
func (k *Kubelets) mirror(node string, spec cluster.Spec) *corev1.Pod {
	name := string(spec.Component)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name + "-" + node, Namespace: metav1.NamespaceSystem,
			Labels:      map[string]string{"component": name, "tier": "control-plane"},
			Annotations: map[string]string{corev1.MirrorPodAnnotationKey: name},
		},
		Spec: corev1.PodSpec{NodeName: node, HostNetwork: true, Containers: []corev1.Container{{
			Name: name, Image: k.Image, Command: []string{name}, Args: spec.Args,
		}}},
	}
}
