// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migratetest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
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

// orchard is the name of the cluster of RKE2.
const orchard = "orchard"

// NewRKE2 makes a world with a cluster of RKE2.
func NewRKE2(t testing.TB) *World {
	t.Helper()
	w := start(t, RKE2ID)
	w.rke2(orchard, RKE2ID)
	return w
}

// rke2 gives the world a cluster with a name and an ID.
func (w *World) rke2(name, id string) {
	w.cluster, w.Name, w.Distro, w.Follow = name, "fleet-default/"+name, rke2.Distro(), w.provision
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
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		panic(err)
	}
	spec := object["spec"].(map[string]any)
	given := must(rke2.Distro().Live.Machines(doc, transform.Target{}))
	w.put(w.controlPlane(spec))
	if w.stuck {
		return
	}
	for i := range 3 {
		w.machine(i, given)
	}
	if w.past126 && !w.replaced {
		w.machine(last, given)
		w.link()
	}
	w.managers(spec, given(w.labelsOf(w.machineName(0))))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (w *World) put(o map[string]any) { w.Rancher.Put(w.t, string(must(json.Marshal(o)))) }

// controlPlane is the object in which Rancher says what it has provisioned.
func (w *World) controlPlane(spec map[string]any) map[string]any {
	own := map[string]any{"kubernetesVersion": spec["kubernetesVersion"]}
	for key, v := range spec["rkeConfig"].(map[string]any) {
		own[key] = v
	}
	delete(own, "machinePools") // they become machines of Cluster API
	status := map[string]any{"observedGeneration": 1, "appliedSpec": own, "conditions": []any{
		map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Reconciled", "status": "True"},
	}}
	if asked, is := own["etcdSnapshotCreate"]; is {
		status["etcdSnapshotCreate"], status["etcdSnapshotCreatePhase"] = asked, "Finished"
	}
	return map[string]any{
		"apiVersion": "rke.cattle.io/v1", "kind": "RKEControlPlane", "metadata": map[string]any{"name": w.cluster, "namespace": "fleet-default", "generation": 1},
		"spec": own, "status": status,
	}
}

func (w *World) machineName(i int) string { return fmt.Sprintf("%s-servers-%d", w.cluster, i) }

// machine gives a machine its plan, which it runs at once.
func (w *World) machine(i int, given transform.MachineConfig) {
	name := w.machineName(i)
	labels := w.labelsOf(name)
	w.put(map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": map[string]any{"name": name, "namespace": "fleet-default", "labels": labels},
		"spec":   map[string]any{"bootstrap": map[string]any{"configRef": map[string]any{"kind": "RKEBootstrap", "name": name}}},
		"status": map[string]any{"nodeRef": map[string]any{"name": apitest.NodeName(i)}},
	})
	plan := planOf(given(labels))
	if labels = maps.Clone(labels); i == 1 {
		labels[rollout.InitLabel] = "true"
	}
	w.put(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": rollout.PlanType, "metadata": map[string]any{"name": name + "-machine-plan", "namespace": "fleet-default", "labels": labels},
		"data": map[string]any{"plan": plan, "appliedPlan": plan},
	})
}

// labelsOf are the labels of a machine.
func (w *World) labelsOf(name string) map[string]string {
	labels := map[string]string{"cluster.x-k8s.io/cluster-name": w.cluster, "rke.cattle.io/machine-name": name}
	pool, roles := "servers", []string{"control-plane", "etcd"}
	if name == lastMachine {
		pool, roles = "agents", []string{"worker"}
	}
	labels["rke.cattle.io/rke-machine-pool-name"] = pool
	for _, r := range roles {
		labels["rke.cattle.io/"+r+"-role"] = "true"
	}
	return labels
}

// planOf is the plan in which Rancher renders the configuration of a machine.
func planOf(config map[string]any) []byte {
	rendered := maps.Clone(config)
	list, _ := rendered["kube-controller-manager-arg"].([]any)
	rendered["kube-controller-manager-arg"] = append(slices.Clone(list), "cert-dir=/var/lib/x", "secure-port=10257")
	rendered["node-label"] = []any{"a=b"}
	content := base64.StdEncoding.EncodeToString(must(json.Marshal(rendered)))
	return must(json.Marshal(map[string]any{"files": []any{map[string]any{"path": "/etc/rancher/rke2/config.yaml.d/50-rancher.yaml", "content": content}}}))
}

// managers starts the managers that the configuration and the manifests require.
func (w *World) managers(spec, config map[string]any) {
	provider, _ := config["cloud-provider-name"].(string)
	kube := []string{"--configure-cloud-routes=false"}
	if named := w.past126 && provider == "aws"; !named {
		kube = append(kube, "--cloud-provider="+provider)
	}
	list := args.Of(config["kube-controller-manager-arg"])
	for _, a := range list {
		kube = append(kube, "--"+a.Name+"="+a.Value)
	}
	if own, is := args.Last(list, "cloud-provider"); is {
		provider = own.Value // it comes after RKE2's
	}
	_, migrates := args.Last(list, "enable-leader-migration")
	var docs []*yamledit.Document
	manifest, _ := spec["rkeConfig"].(map[string]any)["additionalManifest"].(string)
	for _, c := range yamledit.Split("manifest", []byte(manifest)) {
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
	w.lead(provider == "aws" && !w.past126, migrates, installed, installed && chart.Migrates())
}
