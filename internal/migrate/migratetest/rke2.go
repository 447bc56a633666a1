// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migratetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The cluster of RKE2, as Rancher has it before a run.
const (
	RKE2ID     = "c-m-8kqlhbsd"
	RKE2Path   = "/apis/provisioning.cattle.io/v1/namespaces/fleet-default/clusters/orchard"
	RKE2Object = `{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"orchard","namespace":"fleet-default","uid":"u-orchard","generation":1},
 "spec":{"kubernetesVersion":"v1.26.15+rke2r1","rkeConfig":{"machineGlobalConfig":{"cni":"calico","cloud-provider-name":"aws","kube-controller-manager-arg":["v=2","profiling=false"]},
  "additionalManifest":"kind: ConfigMap\napiVersion: v1\nmetadata: {name: own, namespace: default}\n",
  "etcd":{"snapshotScheduleCron":"0 */6 * * *"},
  "machinePools":[{"name":"servers","controlPlaneRole":true,"etcdRole":true,"quantity":3}]}},"status":{"clusterName":"c-m-8kqlhbsd"}}`
)

// orchard is the name of the cluster of RKE2, and namespace the one of its objects.
const orchard, namespace = "orchard", "fleet-default"

// NewRKE2 makes a world with a cluster of RKE2.
func NewRKE2(t testing.TB) *World {
	t.Helper()
	w := start(t, RKE2ID)
	w.rke2(orchard, RKE2ID)
	return w
}

// rke2 gives the world a cluster with a name and an ID.
func (w *World) rke2(name, id string) {
	w.cluster, w.id, w.Name, w.Format, w.Follow = name, id, namespace+"/"+name, rke2.Format(), w.provision
	w.Path = strings.TrimSuffix(RKE2Path, orchard) + name
	w.Lock = "/apis/coordination.k8s.io/v1/namespaces/fleet-default/leases/rke-lm-" + name
	w.Rancher.Put(w.t, strings.NewReplacer(orchard, name, RKE2ID, id).Replace(RKE2Object))
	w.Follow()
}

// provision is how Rancher and the machines of RKE2 follow.
func (w *World) provision() {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.Rancher.Object(w.Path)
	doc := must(yamledit.ParseString(w.cluster, text))
	given := must(rke2.Format().Live.Machines(doc, transform.Target{}))
	var list []ranchertest.Machine
	for i := range w.machines() {
		list = append(list, w.machine(i))
	}
	if !w.stuck {
		for i, m := range list {
			w.put(w.linked(m, i))
			w.assign(m, given(m.Labels), doc)
		}
	}
	w.put(w.controlPlane())
	if !w.stuck {
		w.managers(doc, given(list[0].Labels))
	}
}

// machines is how many the cluster has.
func (w *World) machines() int {
	if w.past126 && !w.replaced {
		return last + 1
	}
	return last
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (w *World) put(o any) { w.Rancher.Put(w.t, string(must(json.Marshal(o)))) }

// controlPlane is the object in which Rancher says what it has provisioned. It waits for machines without Nodes.
func (w *World) controlPlane() map[string]any {
	spec := must(ranchertest.ControlPlane([]byte(w.Rancher.Object(w.Path)), w.cluster, w.id))
	o := map[string]any{
		"apiVersion": "rke.cattle.io/v1", "kind": "RKEControlPlane", "metadata": map[string]any{"name": w.cluster, "namespace": namespace, "generation": 1}, "spec": spec,
	}
	ranchertest.Provisioned(o, spec, 1, ranchertest.NonReady(w.unlinked()))
	if asked := spec.ETCDSnapshotCreate; asked != nil {
		status := ranchertest.StatusOf(o)
		status["etcdSnapshotCreate"], status["etcdSnapshotCreatePhase"] = asked, "Finished"
	}
	return o
}

// machine is one of the machines.
func (w *World) machine(i int) ranchertest.Machine {
	m := ranchertest.Machine{Cluster: w.cluster, Namespace: namespace, Name: fmt.Sprintf("%s-servers-%d", w.cluster, i), ControlPlane: i < last, Etcd: i < last, Worker: i == last}
	m.Labels = map[string]string{"cluster.x-k8s.io/cluster-name": w.cluster, "rke.cattle.io/machine-name": m.Name, "rke.cattle.io/rke-machine-pool-name": "servers"}
	if m.Worker {
		m.Labels["rke.cattle.io/rke-machine-pool-name"] = "agents"
	}
	for role, has := range map[string]bool{"control-plane": m.ControlPlane, "etcd": m.Etcd, "worker": m.Worker} {
		if has {
			m.Labels["rke.cattle.io/"+role+"-role"] = "true"
		}
	}
	if i != 1 {
		m.Server = apitest.NodeName(1)
	}
	return m
}

// assign gives a machine its plan, which it runs at once.
func (w *World) assign(m ranchertest.Machine, config map[string]any, doc *yamledit.Document) {
	version, _ := doc.Root().Get("spec", "kubernetesVersion").String()
	plan := must(json.Marshal(m.Plan(config, version, manifestOf(doc))))
	secret := m.Secret()
	secret.Data = map[string][]byte{"plan": plan, "appliedPlan": plan}
	w.put(secret)
}

func manifestOf(doc *yamledit.Document) string {
	text, _ := doc.Root().Get("spec", "rkeConfig", "additionalManifest").String()
	return text
}

// managers starts the managers that the configuration and the manifests require.
func (w *World) managers(doc *yamledit.Document, config map[string]any) {
	version, _ := doc.Root().Get("spec", "kubernetesVersion").String()
	own := config["kube-controller-manager-arg"]
	kube := append([]string{"--configure-cloud-routes=false"}, ranchertest.Arguments(version, config["cloud-provider-name"], own)...)
	provider := ranchertest.Provider(kube)
	_, migrates := args.Last(args.Of(own), "enable-leader-migration")
	var docs []*yamledit.Document
	for _, c := range yamledit.Split("manifest", []byte(manifestOf(doc))) {
		if d, err := yamledit.Parse(c); err == nil {
			docs = append(docs, d)
		}
	}
	chart, installed, err := ccm.Find(helmchart.Sources{Docs: docs})
	if err != nil {
		panic(err)
	}
	var cloud []string
	if installed {
		cloud = textsOf(chart.Args())
	}
	w.API.Do(func() { w.pods(kube, cloud, chart.ImageTag()) })
	w.lead(provider == "aws", migrates, installed, installed && chart.Migrates())
}
