// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

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

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

func TestThereIsNoRollbackFrom127(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
		if err := migrate.Forward(t.Context(), w.run(t, "one", logged(t))); err != nil {
			t.Fatal(err)
		}
		w.Rancher.Edit(migratetest.RKE2Path, func(o map[string]any) { o["spec"].(map[string]any)["kubernetesVersion"] = "v1.27.16+rke2r1" })
		w.Follow()
		w.Forget()
		err := migrate.Backward(t.Context(), w.run(t, "two", logged(t)))
		if !strings.Contains(fmt.Sprint(err), "no in-tree provider to go back to") || exitcode.Of(err) != exitcode.Refused || len(w.Writes()) > 0 {
			t.Errorf("%v %d %v", err, exitcode.Of(err), w.Writes())
		}
	})
}

func TestAMigrationDoesNotBeginWithoutTheRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
		w.Rancher.Denied["patch nodes"] = true
		err := migrate.Forward(t.Context(), w.run(t, "one", logged(t)))
		if exitcode.Of(err) != exitcode.Refused || !strings.Contains(fmt.Sprint(err), "patch nodes") || len(w.Writes()) > 0 {
			t.Errorf("%v %v", err, w.Writes())
		}
	})
}

// deny lets the cluster deny reads whose path ends so, as its authorizer does.
func (w *world) deny(denied func(path string) bool) {
	w.API.Do(func() {
		w.API.Fault = func(r *http.Request) apitest.Fault {
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
					w := rke2World(t)
					w.API.Services = append(w.API.Services, corev1.Service{
						ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", CreationTimestamp: metav1.Now()},
						Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
					})
					if missing {
						w.Rancher.Denied[c.right] = true
						w.deny(c.denied)
					}
					start := time.Now()
					o := w.run(t, "one", logged(t))
					o.Until = transform.EnableLeaderMigration
					if err := migrate.Forward(t.Context(), o); err != nil {
						t.Fatal(err)
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
		w := rke2World(t)
		w.Stick(true)
		w.Rancher.Edit(migratetest.RKE2Path, func(o map[string]any) {
			o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["machineGlobalConfig"].(map[string]any)["cloud-provider-name"] = "aws"
			o["spec"].(map[string]any)["kubernetesVersion"] = "v1.26.14+rke2r1"
		})
		err := migrate.Forward(t.Context(), w.run(t, "one", logged(t)))
		if exitcode.Of(err) != exitcode.Refused || !strings.Contains(fmt.Sprint(err), "cluster-not-settled") || len(w.Writes()) > 0 {
			t.Errorf("%v %v", err, w.Writes())
		}
	})
}

func TestAMigrationDoesNotBeginOnAClusterWithErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
		w.API.Do(func() { w.API.Nodes[2].Spec.ProviderID = "" })
		err := migrate.Forward(t.Context(), w.run(t, "one", logged(t)))
		if exitcode.Of(err) != exitcode.Found || !strings.Contains(fmt.Sprint(err), "provider ID") || len(w.Writes()) > 0 {
			t.Errorf("%v %v", err, w.Writes())
		}
		r := w.run(t, "two", logged(t))
		r.Accept = []string{"provider-id-missing"}
		r.Until = transform.GrantMigrationLease
		if err := migrate.Forward(t.Context(), r); err != nil {
			t.Error(err)
		}
	})
}

func TestABlockedStageKeepsTheRunFromBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
		r := w.run(t, "one", logged(t))
		r.Planner.Target.EndState = ""
		err := migrate.Forward(t.Context(), r)
		if exitcode.Of(err) != exitcode.Found || !strings.Contains(fmt.Sprint(err), "the stage switch-to-external is blocked") || len(w.Writes()) > 0 {
			t.Errorf("%v %v", err, w.Writes())
		}
		r = w.run(t, "two", logged(t))
		r.Planner.Target.EndState = ""
		r.Until = transform.InstallCCM
		if err := migrate.Forward(t.Context(), r); err != nil {
			t.Errorf("stages before it: %v", err)
		}
	})
}

func TestWhoDeclinesAStageIsToldWhereTheClusterStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
		r := w.run(t, "one", logged(t))
		r.Confirm = func(_ context.Context, stage string) (bool, error) { return stage != transform.SwitchToExternal, nil }
		err := migrate.Forward(t.Context(), r)
		if exitcode.Of(err) != exitcode.Failed || !strings.Contains(fmt.Sprint(err), "you did not want it") || !strings.Contains(fmt.Sprint(err), "the cloud-controller-manager waits for the migration lease") {
			t.Errorf("%v", err)
		}
		if left := w.Cordoned(); len(left) > 0 {
			t.Errorf("cordoned: %v", left)
		}
	})
}
