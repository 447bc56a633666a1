// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	provisioningv1 "github.com/rancher/rancher/pkg/apis/provisioning.cattle.io/v1"
	rkev1 "github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1"
	"github.com/rancher/wrangler/v3/pkg/crd"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The resources that this Rancher keeps.
var (
	clusters        = schema.GroupVersionResource{Group: "provisioning.cattle.io", Version: "v1", Resource: "clusters"}
	controlPlanes   = schema.GroupVersionResource{Group: "rke.cattle.io", Version: "v1", Resource: "rkecontrolplanes"}
	infrastructure  = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta1", Resource: "clusters"}
	machines        = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta1", Resource: "machines"}
	infrastructures = schema.GroupVersionResource{Group: "rke-machine.cattle.io", Version: "v1", Resource: "amazonec2machines"}
	managed         = schema.GroupVersionResource{Group: "management.cattle.io", Version: "v3", Resource: "clusters"}
	backups         = schema.GroupVersionResource{Group: "management.cattle.io", Version: "v3", Resource: "etcdbackups"}
)

// definitions are those of Rancher up to 2.11, which makes its own from its Go types; those of Cluster API
// take anything here. management.cattle.io has neither a schema nor a status of its own.
func definitions() []crd.CRD {
	return []crd.CRD{
		{GVK: kind(clusters, "Cluster"), SchemaObject: &provisioningv1.Cluster{}, Status: true},
		{GVK: kind(controlPlanes, "RKEControlPlane"), SchemaObject: &rkev1.RKEControlPlane{}, Status: true},
		{GVK: kind(infrastructure, "Cluster"), Status: true},
		{GVK: kind(machines, "Machine"), Status: true},
		{GVK: kind(infrastructures, infrastructureKind), Status: true},
		{GVK: kind(managed, "Cluster"), NonNamespace: true},
		{GVK: kind(backups, "EtcdBackup")},
	}
}

// infrastructureKind is that of machines of pools on EC2.
const infrastructureKind = "Amazonec2Machine"

func kind(r schema.GroupVersionResource, kind string) schema.GroupVersionKind {
	return r.GroupVersion().WithKind(kind)
}
