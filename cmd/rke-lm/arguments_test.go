// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
)

const engineFile = `cluster_name: curlew
kubernetes_version: v1.26.15-rancher1-1
nodes: [{address: 203.0.113.11, user: ubuntu, role: [controlplane, etcd, worker]}]
cloud_provider: {name: aws}
services: {kube-controller: {extra_args: {enable-leader-migration: "true"}}}
`

// docked takes the pods of kube-controller-manager away: its containers are docker's.
func docked(s *apitest.Server) {
	s.Do(func() {
		s.Pods = slices.DeleteFunc(s.Pods, func(p corev1.Pod) bool { return strings.HasPrefix(p.Name, "kube-controller-manager") })
	})
}

// following runs owners for a time, and does something at a moment of it.
func following(t *testing.T, length, after time.Duration, do func(), args ...string) (report.Ownership, ran) {
	t.Helper()
	done := make(chan struct{})
	go func() { kube.Pause(context.Background(), after); do(); close(done) }()
	r := runHere(t, "", append([]string{"leaders", "--for", length.String(), "-o", "json"}, args...)...)
	<-done
	o := decoded[report.Ownership](t, r.stdout)
	return o, r
}

func TestOwnersTakesTheArgumentsOfAManagerWithoutAPodFromItsFile(t *testing.T) {
	t.Parallel()
	onCluster(t, func(t *testing.T, s *apitest.Server, config string) {
		docked(s)
		if o, _ := owners(t, config, "4s"); o.Seconds["unknown"] != 4 || o.Arguments != nil {
			t.Errorf("%+v", o)
		}
		file := filepath.Join(t.TempDir(), "cluster.yml")
		write := func(text string) { assert.NilError(t, os.WriteFile(file, []byte(text), 0o600)) }
		write(engineFile)
		o, r := following(t, 4*time.Second, 0, func() {}, "--kubeconfig", config, "--arguments-from", file)
		assert.Truef(t, o.Seconds["1"] == 4 && len(o.Arguments) == 1 && o.Arguments[0] == (report.Arguments{Component: "kube-controller-manager", From: file}), "%+v\n%s", o, r.stderr)

		// The file is changed, then the machine follows, and its new process has another identity.
		node := apitest.NodeName(0)
		o, r = following(t, 60*time.Second, 10*time.Second, func() {
			write("cloud_provider: {nonsense") // as an editor leaves it for a moment
			kube.Pause(context.Background(), 5*time.Second)
			write(strings.ReplaceAll(engineFile, "cloud_provider: {name: aws}\nservices: {kube-controller: {extra_args: {enable-leader-migration: \"true\"}}}", "cloud_provider: {name: external-aws}"))
			kube.Pause(context.Background(), 10*time.Second)
			s.Do(func() {
				s.Hold("kube-controller-manager", node+"_new")
				s.Renews["cloud-provider-extraction-migration"] = false
			})
		}, "--kubeconfig", config, "--arguments-from", file)
		assert.Truef(t, o.Seconds["unknown"] <= 0 && o.Seconds["1"] >= 24 && o.Seconds["0"] >= 30 && len(o.Arguments) == 2, "%+v\n%s", o, r.stderr)
	})
}

func TestFilesThatHoldNoOneClusterOfRKEAreRefused(t *testing.T) {
	here(t, map[string]string{
		"none.yml": "kind: ConfigMap\n", "two.yml": engineFile + "---\n" + engineFile, "broken.yml": "{", "wrong.yml": strings.Replace(engineFile, "nodes: [", "nodes: [7, ", 1),
	})
	for _, file := range []string{"none.yml", "two.yml", "broken.yml", "wrong.yml", "absent.yml"} {
		shows(t, transform.ExitInput, "leaders --arguments-from "+file, file)
	}
}

// managingRKE1 is a Rancher with an RKE1 cluster, whose kube-controller-managers are no pods.
func managingRKE1(t *testing.T) (*ranchertest.Server, *apitest.Server, []string) {
	t.Helper()
	r, to := managing(t)
	downstream := apitest.Start(t)
	downstream.Fill(5)
	docked(downstream)
	r.Do(func() { r.Downstream[curlewID] = downstream })
	return r, downstream, strings.Fields("--cluster " + curlewID + to)
}

// Rancher's object shows what all machines had at one time, and what it brings them to.
func TestOwnersTakesTheArgumentsOfARancherClusterFromItsObject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, downstream, at := managingRKE1(t)
		applied := func(o map[string]any) {
			o["status"] = map[string]any{"appliedSpec": runtime.DeepCopyJSON(o["spec"].(map[string]any))}
		}
		engine := func(o map[string]any) map[string]any {
			return o["spec"].(map[string]any)["rancherKubernetesEngineConfig"].(map[string]any)
		}
		r.Edit(curlewPath, func(o map[string]any) { delete(o, "status") })
		if o, out := following(t, 3*time.Second, 0, func() {}, at...); o.Seconds["unknown"] != 3 {
			t.Errorf("nothing was applied yet: %+v\n%s", o, out.stderr)
		}
		r.Edit(curlewPath, func(o map[string]any) {
			engine(o)["services"] = map[string]any{"kubeController": map[string]any{"extraArgs": map[string]any{"enable-leader-migration": "true"}}}
			applied(o)
		})
		o, out := following(t, 40*time.Second, 10*time.Second, func() {
			r.Edit(curlewPath, func(o map[string]any) {
				engine(o)["cloudProvider"] = map[string]any{"name": "external-aws"}
				engine(o)["services"] = map[string]any{"kubeController": map[string]any{}}
			})
			kube.Pause(context.Background(), 10*time.Second)
			r.Edit(curlewPath, applied)
			downstream.Do(func() { downstream.Renews["cloud-provider-extraction-migration"] = false })
		}, at...)
		from := lists.Map(o.Arguments, func(a report.Arguments) string { return a.From })
		assert.Truef(t, o.Seconds["unknown"] <= 0 && o.Seconds["1"] >= 19 && o.Seconds["1"] <= 38 && slices.Contains(from, "status.appliedSpec of c-x7k2p (curlew)") && slices.Contains(from, "spec of c-x7k2p (curlew)"), "%+v\n%s", o, out.stderr)
	})
}

// Rancher's object counts as long as it can be read: a change that is not seen may
// have begun.
func TestArgumentsThatCannotBeReadAnyMoreAreUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _, at := managingRKE1(t)
		r.Edit(curlewPath, func(o map[string]any) { o["status"] = map[string]any{"appliedSpec": o["spec"]} })
		o, out := following(t, 30*time.Second, 10*time.Second, func() { r.Remove(curlewPath) }, at...)
		assert.Truef(t, o.Seconds["0"] <= 0 && o.Seconds["1"] <= 13 && out.code != transform.ExitDone, "exit %d, %+v\n%s", out.code, o, out.stderr)
	})
}
