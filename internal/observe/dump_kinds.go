// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// dumped are the kinds that a dump may have.
var dumped = map[string]func(*dump, head, json.RawMessage) error{
	observed.Nodes:          nodes.add,
	observed.Leases:         leases.add,
	observed.DaemonSets:     daemonSets.add,
	observed.Services:       services.add,
	observed.Volumes:        volumes.add,
	observed.StorageClasses: storageClasses.add,
	observed.CSINodes:       drivers.add,
	observed.Pods:           func(d *dump, h head, raw json.RawMessage) error { return one(d, h, raw, d.pod) },
	observed.Events: func(d *dump, h head, raw json.RawMessage) error {
		return one(d, h, raw, func(e *corev1.Event) { d.warns = append(d.warns, *e) })
	},
	configMapKind: func(d *dump, h head, raw json.RawMessage) error { return one(d, h, raw, d.configMap) },
}

const configMapKind = "ConfigMap"

// add adds an object of a kind; others are passed over, also those of other groups
// whose kinds have the same names.
func (d *dump) add(h head, raw json.RawMessage) error {
	d.noted(h.kind(), h.Namespace)
	o := d.out
	if at := written(&h.ObjectMeta); at.After(o.Clock) && o.Partial {
		o.Clock = at
	}
	add, known := dumped[h.kind()]
	if !known {
		return nil
	}
	return cmp.Or(add(d, h, raw), named(o.Nodes[max(0, len(o.Nodes)-1):]))
}

// noted keeps that a kind was requested. What is in other namespaces says nothing
// about kube-system; a pod in another one, that kubectl listed all of them.
func (d *dump) noted(kind, namespace string) {
	if kind == observed.Pods && namespace != managersNamespace {
		d.outside = true
	}
	inKubeSystem := slices.Contains([]string{observed.Leases, observed.DaemonSets, observed.Pods}, kind)
	if dumped[kind] == nil || kind == configMapKind || inKubeSystem && namespace != managersNamespace {
		return
	}
	if !slices.Contains(d.out.Kinds, kind) {
		d.out.Kinds = append(d.out.Kinds, kind)
	}
}

func (d *dump) pod(p *corev1.Pod) {
	d.out.Volumes = keepInline(p, d.out.Volumes)
	if _, component := manager(p.Namespace, &p.Spec); component != "" {
		d.pods = append(d.pods, *p)
	}
}

func (d *dump) configMap(m *corev1.ConfigMap) { d.maps[m.Namespace+"/"+m.Name] = m.Data }

// managers is last, because a pod may refer to a ConfigMap after it.
func (d *dump) managers() {
	find := func(namespace, name string) configMap { return configMap{data: d.maps[namespace+"/"+name]} }
	for i := range d.pods {
		if m, is := keepManager(&d.pods[i], find); is {
			d.out.Managers = append(d.out.Managers, m)
		}
	}
	if d.out.Partial && len(d.out.Volumes) > 0 { // of pods
		d.noted(observed.Volumes, "")
	}
	d.out.KubeSystemOnly = d.out.KubeSystemOnly || d.out.Partial && !d.outside
}

// one reads an object of a type, unless it was there before.
func one[T any](d *dump, h head, raw json.RawMessage, use func(*T)) error {
	if !d.out.Partial {
		return errMixed
	}
	key := strings.Join([]string{h.kind(), h.Namespace, h.Name}, "/")
	switch before, again := d.seen[key]; {
	case again && before != h.UID:
		return fmt.Errorf("the %s %s is in it twice, with different UIDs; use the objects of one cluster at one time", h.Kind, h.Name)
	case again:
		return nil
	}
	d.seen[key] = h.UID
	var object T
	if err := json.Unmarshal(raw, &object); err != nil {
		return fmt.Errorf("cannot read this object: %w; use the output of kubectl get -o yaml", err)
	}
	d.count++
	use(&object)
	return nil
}
