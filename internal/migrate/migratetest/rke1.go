// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migratetest

import (
	"encoding/json"
	"testing"

	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/rke1"
)

// The cluster of RKE1, as Rancher has it before a run.
const (
	RKE1ID     = "c-x7k2p"
	RKE1Path   = "/apis/management.cattle.io/v3/clusters/c-x7k2p"
	RKE1Object = `{"apiVersion":"management.cattle.io/v3","kind":"Cluster","metadata":{"name":"c-x7k2p","uid":"u-curlew","generation":1},
 "spec":{"displayName":"curlew","rancherKubernetesEngineConfig":{"kubernetesVersion":"v1.26.15-rancher1-1",
  "cloudProvider":{"name":"aws","useInstanceMetadataHostname":true},"addons":"kind: ConfigMap\napiVersion: v1\nmetadata: {name: own, namespace: default}\n",
  "services":{"kubeController":{"extraArgs":{"v":"2"}}}}}}`
)

// NewRKE1 makes a world with a cluster of RKE1, whose chart comes by a helm on the
// PATH.
func NewRKE1(t testing.TB) *World {
	t.Helper()
	w := start(t, RKE1ID)
	w.rke1(t)
	return w
}

// rke1 gives the world that cluster.
func (w *World) rke1(t testing.TB) {
	t.Helper()
	w.Name, w.Path, w.Format, w.Follow = RKE1ID, RKE1Path, rke1.Format(), w.up
	w.Lock = "/apis/coordination.k8s.io/v1/namespaces/c-x7k2p/leases/rke-lm-c-x7k2p"
	for i := range w.API.Nodes {
		delete(w.API.Nodes[i].Labels, "node-role.kubernetes.io/control-plane")
		w.API.Nodes[i].Labels["node-role.kubernetes.io/controlplane"] = "true"
	}
	w.recordHelm(t)
	w.Rancher.Put(t, RKE1Object)
	w.Follow()
}

// up is what RKE does: it applies the configuration, and uncordons all Nodes.
func (w *World) up() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stuck {
		return
	}
	w.Rancher.Edit(w.Path, func(o map[string]any) { ranchertest.Updated(o, o["spec"], nil) })
	w.API.Do(func() {
		for i := range w.API.Nodes {
			w.API.Nodes[i].Spec.Unschedulable = false
		}
	})
	w.runRKE1Locked()
}

// runRKE1Locked runs the managers that the configuration and helm ask for.
func (w *World) runRKE1Locked() {
	var o struct {
		Spec struct {
			Config struct {
				CloudProvider struct{ Name string }
				Services      struct {
					KubeController struct{ ExtraArgs map[string]string }
				}
			} `json:"rancherKubernetesEngineConfig"`
		}
	}
	if err := json.Unmarshal([]byte(w.Rancher.Object(w.Path)), &o); err != nil {
		panic(err)
	}
	cloud, tag := w.releasedLocked()
	w.API.Do(func() {
		w.pods(nil, textsOf(cloud), tag)
		w.API.Secrets = w.recordsLocked(len(cloud) > 0)
	})
	_, migratesToo := args.Last(cloud, "enable-leader-migration")
	migrates := o.Spec.Config.Services.KubeController.ExtraArgs["enable-leader-migration"] == "true"
	w.lead(o.Spec.Config.CloudProvider.Name == "aws", migrates, len(cloud) > 0, migratesToo)
}
