// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// kind is a kind of objects O: where an API server has them, what an observation keeps
// of one, and where. The kinds of a dump are the same.
type kind[O, K any] struct {
	kube.Resource
	keep  func(*O, []K) []K
	field func(*observed.Observation) *[]K
}

var (
	nodes = kind[corev1.Node, observed.Node]{kube.Resource{Version: "v1", Name: "nodes", Kind: "NodeList"}, keepNode,
		func(o *observed.Observation) *[]observed.Node { return &o.Nodes }}
	leases = kind[coordinationv1.Lease, observed.Lease]{kube.Resource{Version: "coordination.k8s.io/v1", Name: "leases", Kind: "LeaseList"}, keepLease,
		func(o *observed.Observation) *[]observed.Lease { return &o.Leases }}
	daemonSets = kind[appsv1.DaemonSet, observed.DaemonSet]{kube.Resource{Version: "apps/v1", Name: "daemonsets", Kind: "DaemonSetList"}, keepDaemonSet,
		func(o *observed.Observation) *[]observed.DaemonSet { return &o.DaemonSets }}
	services = kind[corev1.Service, observed.Service]{kube.Resource{Version: "v1", Name: "services", Kind: "ServiceList"}, keepService,
		func(o *observed.Observation) *[]observed.Service { return &o.Services }}
	volumes = kind[corev1.PersistentVolume, observed.Volume]{kube.Resource{Version: "v1", Name: "persistentvolumes", Kind: "PersistentVolumeList"}, keepVolume,
		func(o *observed.Observation) *[]observed.Volume { return &o.Volumes }}
	storageClasses = kind[storagev1.StorageClass, string]{kube.Resource{Version: "storage.k8s.io/v1", Name: "storageclasses", Kind: "StorageClassList"}, keepClass,
		func(o *observed.Observation) *[]string { return &o.StorageClasses }}
	// What every node reports of itself once is taken from the server's cache.
	drivers = kind[storagev1.CSINode, observed.NodeDrivers]{kube.Resource{Version: "storage.k8s.io/v1", Name: "csinodes", Kind: "CSINodeList", Options: metav1.ListOptions{ResourceVersion: "0"}}, keepDrivers,
		func(o *observed.Observation) *[]observed.NodeDrivers { return &o.Drivers }}
	pods = kube.Resource{Version: "v1", Name: "pods", Kind: "PodList"}
)

// read keeps the objects of an API server.
func (k kind[O, K]) read(o *Observer) part {
	return func(ctx context.Context, out *observed.Observation) (err error) {
		*k.field(out), err = kube.Collect(ctx, o.Client, k.Resource, k.keep)
		return err
	}
}

// add keeps an object of a dump.
func (k kind[O, K]) add(d *dump, h head, raw json.RawMessage) error {
	return one(d, h, raw, func(object *O) {
		kept := k.field(d.out)
		*kept = k.keep(object, *kept)
	})
}
