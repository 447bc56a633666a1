// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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

const (
	worldID   = "c-m-8kqlhbsd"
	worldPath = "/apis/provisioning.cattle.io/v1/namespaces/fleet-default/clusters/orchard"
	worldText = `{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"orchard","namespace":"fleet-default","uid":"u-orchard","generation":1},
 "spec":{"kubernetesVersion":"v1.26.15+rke2r1","rkeConfig":{"machineGlobalConfig":{"cni":"calico","cloud-provider-name":"aws","kube-controller-manager-arg":["v=2","profiling=false"]},
  "additionalManifest":"kind: ConfigMap\napiVersion: v1\nmetadata: {name: own, namespace: default}\n",
  "etcd":{"snapshotScheduleCron":"0 */6 * * *"},
  "machinePools":[{"name":"servers","controlPlaneRole":true,"etcdRole":true,"quantity":3}]}},"status":{"clusterName":"c-m-8kqlhbsd"}}`
)

// newWorld makes the one of RKE2.
func newWorld(t *testing.T) *world {
	w := bareWorld(t, worldID)
	w.path, w.distro, w.follow = worldPath, rke2.Distro(), w.provision
	w.rancher.Put(t, worldText)
	w.follow()
	return w
}

// provision is how Rancher and the machines of RKE2 follow.
func (w *world) provision() {
	w.mu.Lock()
	defer w.mu.Unlock()
	fail := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	text := w.rancher.Object(worldPath)
	doc, err := yamledit.ParseString("orchard", text)
	fail(err)
	var object map[string]any
	fail(json.Unmarshal([]byte(text), &object))
	spec := object["spec"].(map[string]any)
	classes, err := rke2.Distro().Explain(transform.Only(doc), transform.Target{})
	fail(err)
	config := map[string]any{}
	for _, s := range classes[0].Settings {
		config[s.Key] = s.Value
	}
	w.controlPlane(spec)
	if w.stuck {
		return
	}
	for i := range 3 {
		w.machine(i, config)
	}
	w.managers(spec, config)
}

func (w *world) put(o map[string]any) {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	w.rancher.Put(&testing.T{}, string(text))
}

func (w *world) controlPlane(spec map[string]any) {
	own := map[string]any{"kubernetesVersion": spec["kubernetesVersion"]}
	for key, v := range spec["rkeConfig"].(map[string]any) {
		own[key] = v
	}
	status := map[string]any{"observedGeneration": 1, "appliedSpec": own, "conditions": []any{
		map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Reconciled", "status": "True"},
	}}
	if asked, is := own["etcdSnapshotCreate"]; is {
		status["etcdSnapshotCreate"], status["etcdSnapshotCreatePhase"] = asked, "Finished"
	}
	w.put(map[string]any{"apiVersion": "rke.cattle.io/v1", "kind": "RKEControlPlane", "metadata": map[string]any{"name": "orchard", "namespace": "fleet-default", "generation": 1}, "spec": own, "status": status})
}

// machine gives a machine its plan, which it runs at once.
func (w *world) machine(i int, config map[string]any) {
	name := fmt.Sprintf("orchard-servers-%d", i)
	labels := map[string]any{"cluster.x-k8s.io/cluster-name": "orchard", "rke.cattle.io/rke-machine-pool-name": "servers", "rke.cattle.io/machine-name": name,
		"rke.cattle.io/control-plane-role": "true", "rke.cattle.io/etcd-role": "true"}
	w.put(map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": map[string]any{"name": name, "namespace": "fleet-default", "labels": labels}, "spec": map[string]any{"bootstrap": map[string]any{"configRef": map[string]any{"kind": "RKEBootstrap", "name": name}}}, "status": map[string]any{"nodeRef": map[string]any{"name": apitest.NodeName(i)}}})
	rendered := map[string]any{"node-label": []any{"a=b"}}
	for k, v := range config {
		rendered[k] = v
	}
	list, _ := rendered["kube-controller-manager-arg"].([]any)
	rendered["kube-controller-manager-arg"] = append(slices.Clone(list), "cert-dir=/var/lib/x", "secure-port=10257")
	content, err := json.Marshal(rendered)
	if err != nil {
		panic(err)
	}
	plan, err := json.Marshal(map[string]any{"files": []any{map[string]any{"path": "/etc/rancher/rke2/config.yaml.d/50-rancher.yaml", "content": base64.StdEncoding.EncodeToString(content)}}})
	if err != nil {
		panic(err)
	}
	if labels = maps.Clone(labels); i == 1 {
		labels[rollout.InitLabel] = "true"
	}
	w.put(map[string]any{"apiVersion": "v1", "kind": "Secret", "type": rollout.PlanType, "metadata": map[string]any{"name": name + "-machine-plan", "namespace": "fleet-default", "labels": labels},
		"data": map[string]any{"plan": plan, "appliedPlan": plan}})
}

// managers starts the managers that the configuration and the manifests ask for.
func (w *world) managers(spec, config map[string]any) {
	provider, _ := config["cloud-provider-name"].(string)
	kube := []string{"--cloud-provider=" + provider, "--configure-cloud-routes=false"}
	list := args.Of(config["kube-controller-manager-arg"])
	for _, a := range list {
		kube = append(kube, "--"+a.Name+"="+a.Value)
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
	w.api.Do(func() { w.pods(kube, cloud, chart.ImageTag()) })
	w.lead(provider != "external", migrates, installed, installed && chart.Migrates())
}
