// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/rke-lm/rke-lm/transform/live/observation"
)

// take adds an object of a kind; others are passed over, also those of other groups
// whose kinds have the same names.
func (d *dump) take(h head, raw json.RawMessage) error {
	d.looked(h.kind(), h.Metadata.Namespace)
	o := d.out
	if at := h.written(); at.After(o.Clock) && o.Partial {
		o.Clock = at
	}
	switch h.kind() {
	case observation.Nodes:
		err := one(d, h, raw, func(n *corev1.Node) { o.Nodes = append(o.Nodes, keepNode(n)) })
		return cmp.Or(err, named(o.Nodes[max(0, len(o.Nodes)-1):]))
	case observation.Leases:
		return one(d, h, raw, func(l *coordinationv1.Lease) {
			o.Leases = keepLeases(&coordinationv1.LeaseList{Items: []coordinationv1.Lease{*l}}, o.Leases)
		})
	case observation.DaemonSets:
		return one(d, h, raw, func(s *appsv1.DaemonSet) {
			if kept, is := keepDaemonSet(s); is {
				o.DaemonSets = append(o.DaemonSets, kept)
			}
		})
	case observation.Pods:
		return one(d, h, raw, d.pod)
	case "ConfigMap":
		return one(d, h, raw, d.configMap)
	case observation.Services:
		return one(d, h, raw, func(s *corev1.Service) {
			o.Services = keepServices(&corev1.ServiceList{Items: []corev1.Service{*s}}, o.Services)
		})
	case observation.Events:
		return one(d, h, raw, func(e *corev1.Event) { d.warns = append(d.warns, *e) })
	}
	return d.storage(h, raw)
}

// looked keeps that a kind was requested. What is in other namespaces says nothing
// about kube-system; a pod in another one, that kubectl listed all of them.
func (d *dump) looked(kind, namespace string) {
	if kind == observation.Pods && namespace != managersNamespace {
		d.outside = true
	}
	switch kind {
	case observation.Leases, observation.DaemonSets, observation.Pods:
		if namespace != managersNamespace {
			return
		}
	case observation.Nodes, observation.Services, observation.Events, observation.Volumes, observation.StorageClasses, observation.CSINodes:
	default:
		return
	}
	if !slices.Contains(d.out.Kinds, kind) {
		d.out.Kinds = append(d.out.Kinds, kind)
	}
}

func (d *dump) storage(h head, raw json.RawMessage) error {
	o := d.out
	switch h.kind() {
	case observation.Volumes:
		return one(d, h, raw, func(v *corev1.PersistentVolume) {
			o.Volumes = keepVolumes(&corev1.PersistentVolumeList{Items: []corev1.PersistentVolume{*v}}, o.Volumes)
		})
	case observation.StorageClasses:
		return one(d, h, raw, func(c *storagev1.StorageClass) {
			o.StorageClasses = keepClasses(&storagev1.StorageClassList{Items: []storagev1.StorageClass{*c}}, o.StorageClasses)
		})
	case observation.CSINodes:
		return one(d, h, raw, func(n *storagev1.CSINode) {
			o.Drivers = keepDrivers(&storagev1.CSINodeList{Items: []storagev1.CSINode{*n}}, o.Drivers)
		})
	}
	return nil
}

func (d *dump) pod(p *corev1.Pod) {
	d.out.Volumes = keepInline(&corev1.PodList{Items: []corev1.Pod{*p}}, d.out.Volumes)
	if _, component := manager(p.Namespace, &p.Spec); component != "" {
		d.pods = append(d.pods, *p)
	}
}

func (d *dump) configMap(m *corev1.ConfigMap) {
	if d.maps == nil {
		d.maps = map[string]map[string]string{}
	}
	d.maps[m.Namespace+"/"+m.Name] = m.Data
}

// managers is last, because a pod may refer to a ConfigMap after it.
func (d *dump) managers() {
	find := func(namespace, name string) configMap { return configMap{data: d.maps[namespace+"/"+name]} }
	for i := range d.pods {
		if m, is := keepManager(&d.pods[i], find); is {
			d.out.Managers = append(d.out.Managers, m)
		}
	}
	d.out.KubeSystemOnly = d.out.KubeSystemOnly || d.out.Partial && !d.outside
}

// one reads an object of a type, unless it was there before.
func one[T any](d *dump, h head, raw json.RawMessage, use func(*T)) error {
	if !d.out.Partial {
		return errMixed
	}
	if again, err := d.again(h); again || err != nil {
		return err
	}
	var object T
	if err := json.Unmarshal(raw, &object); err != nil {
		return fmt.Errorf("cannot read this object: %w; use the output of kubectl get -o yaml", err)
	}
	d.count++
	use(&object)
	return nil
}
