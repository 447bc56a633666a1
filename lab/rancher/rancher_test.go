// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const rke2Cluster = `apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata: {name: lab, namespace: fleet-default}
spec:
  kubernetesVersion: v1.26.15+rke2r1
  rkeConfig:
    machineGlobalConfig:
      cloud-provider-name: aws
      kube-controller-manager-arg: [configure-cloud-routes=false]
    machinePools:
      - {name: cp, controlPlaneRole: true, etcdRole: true, quantity: 2}
      - {name: workers, workerRole: true, quantity: 1}
`

// started returns a Rancher that ends with the test.
func started(t *testing.T) *rancher.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real control planes")
	}
	t.Parallel() // it is mostly waiting
	s := assert.Value(rancher.Start(t.Context(), t.TempDir(), cluster.Short))(t)
	t.Cleanup(s.Stop)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.LogTail())
		}
	})
	return s
}

// through returns what a client needs to reach a cluster through Rancher.
func through(s *rancher.Server, token, id string) *rest.Config {
	return &rest.Config{Host: s.URL() + "/k8s/clusters/" + id, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAFile: s.CA()}, QPS: 100, Burst: 100}
}

func document(t *testing.T, text string) *yamledit.Document {
	t.Helper()
	doc := assert.Value(yamledit.ParseString("cluster.yaml", text))(t)
	return doc
}

// eventually waits until what is requested holds.
func eventually(t *testing.T, what string, holds func(context.Context) (bool, string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*cluster.ReadyTimeout)
	defer cancel()
	for {
		ok, seen := holds(ctx)
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("never came: %s; last seen: %s", what, seen)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

var (
	clusters      = schema.GroupVersionResource{Group: "provisioning.cattle.io", Version: "v1", Resource: "clusters"}
	managed       = schema.GroupVersionResource{Group: "management.cattle.io", Version: "v3", Resource: "clusters"}
	backups       = schema.GroupVersionResource{Group: "management.cattle.io", Version: "v3", Resource: "etcdbackups"}
	controlPlanes = schema.GroupVersionResource{Group: "rke.cattle.io", Version: "v1", Resource: "rkecontrolplanes"}
)

// lab is a Rancher with one cluster, and its clients through the proxy.
type lab struct {
	*testing.T
	*rancher.Server
	cluster    *rancher.Downstream
	local      dynamic.Interface
	downstream kubernetes.Interface
}

func (l *lab) connect(d *rancher.Downstream) {
	l.Helper()
	l.cluster = d
	token, err := l.Token(), error(nil)
	if l.local, err = dynamic.NewForConfig(through(l.Server, token, "local")); err != nil {
		l.Fatal(err)
	}
	if l.downstream, err = kubernetes.NewForConfig(through(l.Server, token, d.ID)); err != nil {
		l.Fatal(err)
	}
}

func withRKE2(t *testing.T) *lab {
	t.Helper()
	l := &lab{T: t, Server: started(t)}
	d := assert.Value(l.AddRKE2(t.Context(), document(t, rke2Cluster)))(t)
	l.connect(d)
	return l
}

// patch changes an object, given as JSON patch.
func (l *lab) patch(at schema.GroupVersionResource, namespace, name, patch string) {
	l.Helper()
	if _, err := l.local.Resource(at).Namespace(namespace).Patch(l.Context(), name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		l.Fatal(err)
	}
}

// status returns part of an object's status.
func (l *lab) status(ctx context.Context, at schema.GroupVersionResource, namespace, name string, path ...string) any {
	o, err := l.local.Resource(at).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, append([]string{"status"}, path...)...)
	return value
}

// run returns the arguments of all running managers of a component.
func (l *lab) run(component cluster.Component) []string {
	var list []string
	for _, m := range l.cluster.Managers() {
		if m.Alive() && m.Component == component {
			list = append(list, strings.Join(m.Args, " "))
		}
	}
	return list
}

func TestAChangeOfTheObjectReachesEveryMachine(t *testing.T) {
	l := withRKE2(t)
	l.patch(clusters, rancher.Namespace, "lab", `[{"op":"add","path":"/spec/rkeConfig/machineGlobalConfig/kube-controller-manager-arg/-","value":"enable-leader-migration=true"}]`)
	eventually(t, "the applied specification", func(ctx context.Context) (bool, string) {
		applied := fmt.Sprint(l.status(ctx, controlPlanes, rancher.Namespace, "lab", "appliedSpec"))
		return strings.Contains(applied, "enable-leader-migration"), applied
	})
	list := l.run(cluster.KCM)
	for _, args := range list {
		assert.Equal(t, args, "--cloud-provider=aws --configure-cloud-routes=false --enable-leader-migration=true")
	}
	eventually(t, "a mirror of every manager", func(ctx context.Context) (bool, string) {
		pods, err := l.downstream.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: "component=kube-controller-manager"})
		if err != nil {
			return false, err.Error()
		}
		for _, p := range pods.Items {
			if !strings.Contains(fmt.Sprint(p.Spec.Containers[0].Args), "enable-leader-migration") {
				return false, p.Name
			}
		}
		return len(pods.Items) == 2 && len(list) == 2, fmt.Sprint(len(pods.Items), len(list))
	})
}

// The chart's Job, its DaemonSet and its pods go the way that they go in any cluster.
func TestAChartComesAndGoesWithTheManifest(t *testing.T) {
	l := withRKE2(t)
	plan := assert.Value(plan.Build(rke2.Format(), transform.Only(document(t, rke2Cluster)), transform.Target{EndState: transform.EndStateExternal, Accept: []string{"node-rename"}, ChartRepo: l.Charts()}))(t)
	step, _ := plan.Step(stages.InstallCCM)
	manifest, _ := step.After()[0].Root().Get("spec", "rkeConfig", "additionalManifest").String()
	text, _ := json.Marshal(manifest)
	l.patch(clusters, rancher.Namespace, "lab", `[{"op":"add","path":"/spec/rkeConfig/additionalManifest","value":`+string(text)+`}]`)
	eventually(t, "the DaemonSet on both control planes", func(ctx context.Context) (bool, string) {
		d, err := l.downstream.AppsV1().DaemonSets(metav1.NamespaceSystem).Get(ctx, "aws-cloud-controller-manager", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return d.Status.DesiredNumberScheduled == 2 && d.Status.NumberReady == 2, fmt.Sprint(d.Status)
	})
	for _, args := range l.run(cluster.CCM) {
		assert.Contains(t, args, "--enable-leader-migration=true")
	}
	if n := len(l.run(cluster.CCM)); n != 2 {
		t.Errorf("%d cloud-controller-managers run", n)
	}
	l.patch(clusters, rancher.Namespace, "lab", `[{"op":"remove","path":"/spec/rkeConfig/additionalManifest"}]`)
	eventually(t, "the end of the last cloud-controller-manager", func(context.Context) (bool, string) {
		return len(l.run(cluster.CCM)) == 0, fmt.Sprint(l.run(cluster.CCM))
	})
}

func TestASnapshotOfRKE2IsTakenOnRequest(t *testing.T) {
	l := withRKE2(t)
	l.patch(clusters, rancher.Namespace, "lab", `[{"op":"add","path":"/spec/rkeConfig/etcdSnapshotCreate","value":{"generation":1}}]`)
	eventually(t, "the finished snapshot", func(ctx context.Context) (bool, string) {
		phase := l.status(ctx, controlPlanes, rancher.Namespace, "lab", "etcdSnapshotCreatePhase")
		return phase == "Finished", fmt.Sprint(phase)
	})
	if n := l.cluster.Snapshots(); n != 2 {
		t.Errorf("%d etcd machines took a snapshot, want 2", n)
	}
	l.cluster.FailPlans(l.cluster.Machines[1].Name, 3, "no space left on device")
	l.patch(clusters, rancher.Namespace, "lab", `[{"op":"replace","path":"/spec/rkeConfig/etcdSnapshotCreate/generation","value":2}]`)
	eventually(t, "the failed snapshot", func(ctx context.Context) (bool, string) {
		phase := l.status(ctx, controlPlanes, rancher.Namespace, "lab", "etcdSnapshotCreatePhase")
		return phase == "Failed", fmt.Sprint(phase)
	})
}

// A machine that does not follow keeps the next one from following.
func TestAMachineThatIsHeldHoldsTheOthers(t *testing.T) {
	l := withRKE2(t)
	assert.NilError(t, l.cluster.Suspend(t.Context(), l.cluster.Machines[0].Name))
	l.patch(clusters, rancher.Namespace, "lab", `[{"op":"add","path":"/spec/rkeConfig/machineGlobalConfig/kube-controller-manager-arg/-","value":"v=3"}]`)
	eventually(t, "a cluster that waits", func(ctx context.Context) (bool, string) {
		conditions := fmt.Sprint(l.status(ctx, clusters, rancher.Namespace, "lab", "conditions"))
		return strings.Contains(conditions, "waiting for plan to be applied"), conditions
	})
	for _, args := range l.run(cluster.KCM) {
		if strings.Contains(args, "--v=3") {
			t.Error("a machine followed")
		}
	}
	assert.NilError(t, l.cluster.Release(t.Context()))
	eventually(t, "managers with the argument", func(context.Context) (bool, string) {
		list := l.run(cluster.KCM)
		return strings.Count(fmt.Sprint(list), "--v=3") == 2, fmt.Sprint(list)
	})
}
