// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

func TestThereIsNoRollbackFrom127(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		if err := w.run(t, "one", said(t)).Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.rancher.Edit(worldPath, func(o map[string]any) { o["spec"].(map[string]any)["kubernetesVersion"] = "v1.27.16+rke2r1" })
		w.follow()
		w.writes = nil
		err := w.run(t, "two", said(t)).Rollback(t.Context())
		if !strings.Contains(fmt.Sprint(err), "no in-tree provider to go back to") || exitcode.Of(err) != exitcode.Refused || len(w.writes) > 0 {
			t.Errorf("%v %d %v", err, exitcode.Of(err), w.writes)
		}
	})
}

func TestAMigrationDoesNotBeginWithoutTheRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.rancher.Denied["patch nodes"] = true
		err := w.run(t, "one", said(t)).Migrate(t.Context())
		if exitcode.Of(err) != exitcode.Refused || !strings.Contains(fmt.Sprint(err), "patch nodes") || len(w.writes) > 0 {
			t.Errorf("%v %v", err, w.writes)
		}
	})
}

// deny lets the cluster deny reads whose path ends so, as its authorizer does.
func (w *world) deny(denied func(path string) bool) {
	w.api.Do(func() {
		w.api.Fault = func(r *http.Request) apitest.Fault {
			if r.Method != http.MethodGet || !denied(r.URL.Path) {
				return apitest.Fault{}
			}
			return apitest.Fault{Status: http.StatusForbidden, Body: `{"kind":"Status","apiVersion":"v1","code":403,"message":"it is forbidden: User \"u\" cannot list it"}`}
		}
	})
}

// What a run goes on without is neither asked for by its preflight, nor waited for.
func TestAMigrationNeedsNoMoreThanItsRights(t *testing.T) {
	for name, c := range map[string]struct {
		right  string
		denied func(path string) bool
	}{
		"no Events":              {"list events", func(path string) bool { return strings.HasSuffix(path, "/events") }},
		"pods of kube-system":    {"list pods of all namespaces", func(path string) bool { return path == "/api/v1/pods" }},
		"no workloads of others": {"list daemonsets of all namespaces", func(path string) bool { return path == "/apis/apps/v1/daemonsets" }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				took := func(missing bool) time.Duration {
					w := newWorld(t)
					w.api.Services = append(w.api.Services, corev1.Service{
						ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", CreationTimestamp: metav1.Now()},
						Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
					})
					if missing {
						w.rancher.Denied[c.right] = true
						w.deny(c.denied)
					}
					start := time.Now()
					if code, _, said := w.command(t, "migrate", "--cluster", "orchard", "--end-state", "external", "--yes", "--until", "enable-leader-migration"); code != exitcode.Done {
						t.Fatalf("%d %s", code, said)
					}
					return time.Since(start)
				}
				if with, without := took(false), took(true); without > with+time.Second {
					t.Errorf("%s, and %s without the right", with, without)
				}
			})
		})
	}
}

func TestAMigrationDoesNotBeginOnAClusterThatIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.mu.Lock()
		w.stuck = true
		w.mu.Unlock()
		w.rancher.Edit(worldPath, func(o map[string]any) {
			o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["machineGlobalConfig"].(map[string]any)["cloud-provider-name"] = "aws"
			o["spec"].(map[string]any)["kubernetesVersion"] = "v1.26.14+rke2r1"
		})
		err := w.run(t, "one", said(t)).Migrate(t.Context())
		if exitcode.Of(err) != exitcode.Refused || !strings.Contains(fmt.Sprint(err), "cluster-not-settled") || len(w.writes) > 0 {
			t.Errorf("%v %v", err, w.writes)
		}
	})
}

func TestAMigrationDoesNotBeginOnAClusterWithErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.api.Do(func() { w.api.Nodes[2].Spec.ProviderID = "" })
		err := w.run(t, "one", said(t)).Migrate(t.Context())
		if exitcode.Of(err) != exitcode.Found || !strings.Contains(fmt.Sprint(err), "provider ID") || len(w.writes) > 0 {
			t.Errorf("%v %v", err, w.writes)
		}
		r := w.run(t, "two", said(t))
		r.Accept = []string{"provider-id-missing"}
		r.Until = transform.GrantMigrationLease
		if err := r.Migrate(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestABlockedStageKeepsTheRunFromBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.run(t, "one", said(t))
		r.Planner.Target.EndState = ""
		err := r.Migrate(t.Context())
		if exitcode.Of(err) != exitcode.Found || !strings.Contains(fmt.Sprint(err), "the stage switch-to-external is blocked") || len(w.writes) > 0 {
			t.Errorf("%v %v", err, w.writes)
		}
		r = w.run(t, "two", said(t))
		r.Planner.Target.EndState = ""
		r.Until = transform.InstallCCM
		if err := r.Migrate(t.Context()); err != nil {
			t.Errorf("stages before it: %v", err)
		}
	})
}

func TestWhoDeclinesAStageIsToldWhereTheClusterStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.run(t, "one", said(t))
		r.Confirm = func(_ context.Context, stage string) (bool, error) { return stage != transform.SwitchToExternal, nil }
		err := r.Migrate(t.Context())
		if exitcode.Of(err) != exitcode.Failed || !strings.Contains(fmt.Sprint(err), "you did not want it") || !strings.Contains(fmt.Sprint(err), "the cloud-controller-manager waits for the migration lease") {
			t.Errorf("%v", err)
		}
		if left := w.cordoned(); len(left) > 0 {
			t.Errorf("cordoned: %v", left)
		}
	})
}
