// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
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
	s, err := rancher.Start(t.Context(), t.TempDir(), cluster.Short)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// through returns what a client needs to reach a cluster through Rancher.
func through(s *rancher.Server, token, id string) *rest.Config {
	return &rest.Config{Host: s.URL() + "/k8s/clusters/" + id, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAFile: s.CA()}, QPS: 100, Burst: 100}
}

func document(t *testing.T, text string) *yamledit.Document {
	t.Helper()
	doc, err := yamledit.ParseString("cluster.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// eventually waits until what is asked for holds.
func eventually(t *testing.T, what string, holds func(context.Context) (bool, string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
	controlPlanes = schema.GroupVersionResource{Group: "rke.cattle.io", Version: "v1", Resource: "rkecontrolplanes"}
)

func TestAChangeOfTheObjectReachesEveryMachine(t *testing.T) {
	s := started(t)
	d, err := s.AddRKE2(t.Context(), document(t, rke2Cluster))
	if err != nil {
		t.Fatal(err)
	}
	token := s.Token()
	client, err := dynamic.NewForConfig(through(s, token, "local"))
	if err != nil {
		t.Fatal(err)
	}
	patch := []byte(`[{"op":"add","path":"/spec/rkeConfig/machineGlobalConfig/kube-controller-manager-arg/-","value":"enable-leader-migration=true"}]`)
	object, err := client.Resource(clusters).Namespace(rancher.Namespace).Patch(t.Context(), "lab", types.JSONPatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(object.GetGeneration())
	eventually(t, "the applied specification", func(ctx context.Context) (bool, string) {
		cp, err := client.Resource(controlPlanes).Namespace(rancher.Namespace).Get(ctx, "lab", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return strings.Contains(fmt.Sprint(cp.Object["status"].(map[string]any)["appliedSpec"]), "enable-leader-migration"), fmt.Sprint(cp.Object["status"])
	})
	for _, m := range d.Managers() {
		if m.Alive() && !strings.Contains(strings.Join(m.Args, " "), "--enable-leader-migration=true") {
			t.Errorf("%s runs with %v", m.Caller(), m.Args)
		}
	}
	downstream, err := kubernetes.NewForConfig(through(s, token, d.ID))
	if err != nil {
		t.Fatal(err)
	}
	pods, err := downstream.CoreV1().Pods(metav1.NamespaceSystem).List(t.Context(), metav1.ListOptions{LabelSelector: "component=kube-controller-manager"})
	if err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 2 {
		t.Errorf("%d mirrors of managers", len(pods.Items))
	}
}

func TestWithoutATokenNothingIsShown(t *testing.T) {
	s := started(t)
	token := s.Token()
	s.Revoke(token)
	client, err := kubernetes.NewForConfig(through(s, token, "local"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsUnauthorized(err) {
		t.Error(err)
	}
}
