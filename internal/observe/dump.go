// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/json"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/transform/observation"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// WriteDump writes what was seen into a file that only its owner may read: it
// names every node.
func WriteDump(file string, o *observation.Observation) error {
	text, err := yaml.Marshal(o)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("the dump cannot be written: %w; name another file", err)
	}
	return nil
}

// ReadDump reads a dump, or the objects that kubectl get -o yaml (or json) prints.
// Of the latter it takes the kinds that are there.
func ReadDump(file string) (*observation.Observation, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the dump cannot be read: %w; check the path", err)
	}
	d := dump{out: &observation.Observation{APIVersion: observation.APIVersion, Kind: observation.Kind, Partial: true}}
	for _, c := range yamledit.Split(file, text) {
		if err := d.document(c.Bytes); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, c.Line+1, err)
		}
	}
	if d.count == 0 {
		return nil, fmt.Errorf("%s: no object of a cluster is in it; name a dump of verify --dump, or what kubectl get nodes,leases,daemonsets,pods -A -o yaml prints", file)
	}
	d.managers()
	return d.out, nil
}

// dump gathers an observation from objects.
type dump struct {
	out   *observation.Observation
	pods  []corev1.Pod
	maps  map[string]map[string]string
	count int // of the objects that were of use
}

func (d *dump) document(text []byte) error {
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		return fmt.Errorf("this is no YAML: %w", err)
	}
	return d.object(raw)
}

// object takes one object, or those of a list.
func (d *dump) object(raw json.RawMessage) error {
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Items           []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("this is no object of Kubernetes: %w", err)
	}
	for _, item := range head.Items {
		if err := d.object(item); err != nil {
			return err
		}
	}
	if len(head.Items) > 0 {
		return nil
	}
	if head.Kind == observation.Kind && head.APIVersion == observation.APIVersion {
		d.count++
		d.out.Partial = false
		return yaml.UnmarshalStrict(raw, d.out)
	}
	return d.take(head.Kind, raw)
}

// take adds an object of a kind; others are passed over.
func (d *dump) take(kind string, raw json.RawMessage) error {
	o := d.out
	switch kind {
	case "Node":
		return one(d, raw, func(n *corev1.Node) { o.Nodes = append(o.Nodes, keepNode(n)) })
	case "Lease":
		return one(d, raw, func(l *coordinationv1.Lease) {
			o.Leases = keepLeases(&coordinationv1.LeaseList{Items: []coordinationv1.Lease{*l}}, o.Leases)
		})
	case "DaemonSet":
		return one(d, raw, func(s *appsv1.DaemonSet) {
			if kept, is := keepDaemonSet(s); is {
				o.DaemonSets = append(o.DaemonSets, kept)
			}
		})
	case "Pod":
		return one(d, raw, func(p *corev1.Pod) { d.pods = append(d.pods, *p) })
	case "ConfigMap":
		return one(d, raw, d.configMap)
	case "Service":
		return one(d, raw, func(s *corev1.Service) {
			o.Services = keepServices(&corev1.ServiceList{Items: []corev1.Service{*s}}, o.Services)
		})
	}
	return d.storage(kind, raw)
}

func (d *dump) storage(kind string, raw json.RawMessage) error {
	o := d.out
	switch kind {
	case "PersistentVolume":
		return one(d, raw, func(v *corev1.PersistentVolume) {
			o.Volumes = keepVolumes(&corev1.PersistentVolumeList{Items: []corev1.PersistentVolume{*v}}, o.Volumes)
		})
	case "StorageClass":
		return one(d, raw, func(c *storagev1.StorageClass) {
			o.StorageClasses = keepClasses(&storagev1.StorageClassList{Items: []storagev1.StorageClass{*c}}, o.StorageClasses)
		})
	case "CSINode":
		return one(d, raw, func(n *storagev1.CSINode) {
			o.Drivers = keepDrivers(&storagev1.CSINodeList{Items: []storagev1.CSINode{*n}}, o.Drivers)
		})
	}
	return nil
}

func (d *dump) configMap(m *corev1.ConfigMap) {
	if d.maps == nil {
		d.maps = map[string]map[string]string{}
	}
	if m.Namespace == managersNamespace {
		d.maps[m.Name] = m.Data
	}
}

// managers is last, because a pod may refer to a ConfigMap behind it.
func (d *dump) managers() {
	find := func(name string) (map[string]string, bool) { data, found := d.maps[name]; return data, found }
	for i := range d.pods {
		p := &d.pods[i]
		if m, is := keepManager(p, find); is && p.Namespace == managersNamespace {
			d.out.Managers = append(d.out.Managers, m)
		}
		d.out.Volumes = keepInline(&corev1.PodList{Items: []corev1.Pod{*p}}, d.out.Volumes)
	}
}

// one reads an object of a type.
func one[T any](d *dump, raw json.RawMessage, use func(*T)) error {
	var object T
	if err := json.Unmarshal(raw, &object); err != nil {
		return fmt.Errorf("this object cannot be read: %w", err)
	}
	d.count++
	use(&object)
	return nil
}
