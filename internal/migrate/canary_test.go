// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/stages"
)

const (
	canaryNamespace = "/api/v1/namespaces/rke-lm-canary"
	canaryService   = canaryNamespace + "/services/rke-lm-canary"
)

// swept expects that nothing is left of the check.
func (w *world) swept(t *testing.T) {
	t.Helper()
	assert.True(t, !w.Exists(canaryNamespace) && !w.Exists(canaryService), "the namespace or the Service was not deleted")
}

// canaryWrites are those of the check among the writes that came.
func (w *world) canaryWrites() string {
	var list []string
	for _, line := range w.Writes() {
		if method, path, _ := strings.Cut(line, " "); strings.Contains(path, "rke-lm-canary") {
			list = append(list, method+" "+path[strings.Index(path, "/api/"):])
		}
	}
	return strings.Join(list, ", ")
}

func TestTheCanaryServiceGetsAnAddressAndIsDeleted(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		log, printed := filepath.Join(t.TempDir(), "audit.jsonl"), ""
		assert.NilError(t, w.does(t, "one", migrate.Forward, proving, auditing(log), hearing(func(e migrate.Event) { printed += e.Message + "\n" })))
		want := "PATCH " + canaryNamespace + ", PATCH " + canaryService + ", DELETE " + canaryService + ", DELETE " + canaryNamespace
		assert.Equal(t, w.canaryWrites(), want)
		assert.Contains(t, printed, "the canary Service got the address "+migratetest.Address+" and was deleted")
		w.swept(t)
		w.finished(t, undisturbed(t))
		audited(t, log)
	})
}

func TestACanaryServiceWithoutAnAddressFailsAndIsDeleted(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		w.Balance = false
		err := w.does(t, "one", migrate.Forward, proving)
		assert.True(t, transform.ExitCodeOf(err) == transform.ExitFailed && strings.Contains(fmt.Sprint(err), "not complete within 10m0s (--timeout): the canary Service has no load balancer yet"), err)
		w.swept(t)
		w.Balance = true
		assert.NilError(t, w.does(t, "two", migrate.Forward, proving))
	})
}

func TestAnInterruptDeletesTheCanaryService(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		w.Balance = false
		ctx, interrupt := context.WithCancel(t.Context())
		r := w.run(t, "one", func(e migrate.Event) {
			if e.Type == migrate.Awaited && strings.Contains(e.Message, "canary Service") {
				interrupt()
			}
		})
		r.CanaryService = true
		assert.ErrorContains(t, migrate.Forward(ctx, r), "interrupted")
		w.swept(t)
	})
}

func TestANamespaceOfAnotherUserIsNotTouched(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		w.Put(canaryNamespace, `{"metadata":{"name":"rke-lm-canary"}}`)
		err := w.does(t, "one", migrate.Forward, proving)
		assert.Truef(t, transform.ExitCodeOf(err) == transform.ExitRefused && strings.Contains(fmt.Sprint(err), "that rke-lm did not create") && w.canaryWrites() == "" && w.Exists(canaryNamespace), "%v %s", err, w.canaryWrites())
	})
}

func TestAnErrorOfTheCloudControllersSinceTheBeginningFails(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		warning := corev1.Event{
			ObjectMeta: metav1.ObjectMeta{UID: "before", Namespace: "shop"}, Type: corev1.EventTypeWarning, Count: 1, Reason: "SyncLoadBalancerFailed", Message: "no subnet",
			Source: corev1.EventSource{Component: "service-controller"}, InvolvedObject: corev1.ObjectReference{Kind: "Service", Namespace: "shop", Name: "web"},
		}
		w.API.Do(func() { w.API.Events = []corev1.Event{warning} })
		assert.NilError(t, w.does(t, "one", migrate.Forward, proving))
		err := w.does(t, "two", migrate.Forward, proving, hearing(func(e migrate.Event) {
			if e.Type == migrate.Written {
				w.API.Do(func() { warning.UID = "since"; w.API.Events = append(w.API.Events, warning) })
			}
		}))
		assert.True(t, strings.Contains(fmt.Sprint(err), "the canary check failed: ") && transform.ExitCodeOf(err) == transform.ExitFailed && strings.Contains(err.Error(), "service-controller on Service shop/web: SyncLoadBalancerFailed: no subnet"), err)
		w.swept(t)
	})
}

func TestOnlyTheFirstWaveProvesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMany(t, "alder", "birch")
		f := m.fleet([]string{"fleet-default/birch"}, 1, transition.Limits{})
		f.Open = func(cluster string) (migrate.Options, error) {
			o, err := m.open(cluster)
			o.CanaryService, o.Until, o.Timeout = true, stages.GrantMigrationLease, time.Minute
			return o, err
		}
		m.Worlds["alder"].Balance = false
		s := f.Run(t.Context())
		assert.Mustf(t, states(s) == "birch=done alder=done", "%s %+v", states(s), s)
		for _, w := range m.Worlds {
			(&world{World: w}).swept(t)
		}
		m.Worlds["birch"].Balance = false
		s = f.Run(t.Context())
		assert.True(t, states(s) == "birch=failed alder=waiting", states(s))
	})
}
