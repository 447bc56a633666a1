// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform/stages"
)

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

// What a run continues without is neither requested by its preflight, nor waited for.
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
					assert.NilError(t, w.does(t, "one", migrate.Forward, until(stages.EnableLeaderMigration)))
					return time.Since(start)
				}
				with, without := took(false), took(true)
				assert.Truef(t, without <= with+time.Second, "%s, and %s without the right", with, without)
			})
		})
	}
}
