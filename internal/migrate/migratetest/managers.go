// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migratetest

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform/args"
)

// lead gives the leases to those that take them.
func (w *World) lead(inTree, migrates, installed, migratesToo bool) {
	w.two = w.two || inTree && installed && !(migrates && migratesToo)
	const migration = "cloud-provider-extraction-migration"
	kube, cloud := apitest.NodeName(0)+"_8f0e", apitest.NodeName(1)+"_b63d"
	w.hold("kube-controller-manager", kube)
	switch {
	case installed && !inTree && !migratesToo && w.Gap > 0:
		w.removePod(cloud)
	case installed:
		w.hold("cloud-controller-manager", cloud)
	}
	switch {
	case !inTree && migratesToo:
		w.hold(migration, cloud)
	case inTree && migrates && !(migratesToo && w.holder(migration) == cloud):
		w.hold(migration, kube)
	case !migratesToo:
		w.API.Do(func() { delete(w.API.Renews, migration) })
	}
}

// hold lets someone hold a lease.
func (w *World) hold(lease, holder string) { w.API.Do(func() { w.API.Hold(lease, holder) }) }

// holder is who holds a lease; "" for no one.
func (w *World) holder(lease string) (name string) {
	w.API.Do(func() {
		for _, l := range w.API.Leases {
			if l.Name == lease {
				name = *l.Spec.HolderIdentity
			}
		}
	})
	return name
}

// pods makes the managers' pods: none of a component without arguments.
func (w *World) pods(kube, cloud []string, tag string) {
	fresh := &apitest.Server{Renews: map[string]bool{}}
	fresh.Fill(3)
	managers := func(p corev1.Pod) bool { return p.Namespace == "kube-system" }
	w.API.Pods, w.API.DaemonSets = slices.DeleteFunc(w.API.Pods, managers), nil
	image := "registry.k8s.io/provider-aws/cloud-controller-manager:" + tag
	for _, p := range fresh.Pods {
		c := &p.Spec.Containers[0]
		if c.Name == "kube-controller-manager" {
			c.Args = kube
		} else {
			c.Args, c.Image = cloud, image
		}
		if len(c.Args) > 0 {
			w.API.Pods = append(w.API.Pods, p)
		}
	}
	if len(cloud) > 0 {
		d := fresh.DaemonSets[0]
		c := &d.Spec.Template.Spec.Containers[0]
		c.Args, c.Image = cloud, image
		w.API.DaemonSets = []appsv1.DaemonSet{d}
	}
}

func textsOf(list []args.Arg) []string {
	var out []string
	for _, a := range list {
		out = append(out, a.Text)
	}
	return out
}

// removePod ends the leader from before the last edit; another one leads after the gap.
func (w *World) removePod(leader string) {
	if w.holder("cloud-controller-manager") != leader || w.Led.Load() {
		return
	}
	w.API.Do(func() { delete(w.API.Renews, "cloud-controller-manager") })
	w.left.Do(func() {
		time.AfterFunc(w.Gap, func() {
			w.hold("cloud-controller-manager", apitest.NodeName(2)+"_e90b")
			w.Led.Store(true)
		})
	})
}
