// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"context"
	"errors"
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
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/waves"
)

const (
	canaryNamespace = "/api/v1/namespaces/rke-lm-canary"
	canaryService   = canaryNamespace + "/services/rke-lm-canary"
)

// proving is a run with the canary check.
func (w *world) proving(t *testing.T, agent string) migrate.Options {
	t.Helper()
	r := w.run(t, agent, logged(t))
	r.CanaryService = true
	return r
}

// swept expects that nothing is left of the check.
func (w *world) swept(t *testing.T) {
	t.Helper()
	assert.True(t, !w.Holds(canaryNamespace) && !w.Holds(canaryService), "the namespace or the Service was not deleted")
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
		r, said := w.proving(t, "one"), ""
		r.AuditLog = filepath.Join(t.TempDir(), "audit.jsonl")
		r.OnEvent = func(e migrate.Event) { said += e.Message + "\n" }
		assert.NilError(t, migrate.Forward(t.Context(), r))
		want := "PATCH " + canaryNamespace + ", PATCH " + canaryService + ", DELETE " + canaryService + ", DELETE " + canaryNamespace
		got := w.canaryWrites()
		assert.Truef(t, got == want && strings.Contains(said, "the canary Service got the address "+migratetest.Address+" and was deleted"), "%s\n%s", got, said)
		w.swept(t)
		w.finished(t, undisturbed(t))
		audited(t, r.AuditLog)
	})
}

func TestACanaryServiceWithoutAnAddressFailsAndIsDeleted(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		w.Balance = false
		err := migrate.Forward(t.Context(), w.proving(t, "one"))
		assert.True(t, exitcode.Of(err) == exitcode.Failed && strings.Contains(fmt.Sprint(err), "not complete within 10m0s (--timeout): the canary Service has no load balancer yet"), err)
		w.swept(t)
		w.Balance = true
		assert.NilError(t, migrate.Forward(t.Context(), w.proving(t, "two")))
	})
}

func TestAnInterruptDeletesTheCanaryService(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		w.Balance = false
		ctx, interrupt := context.WithCancel(t.Context())
		r := w.proving(t, "one")
		r.OnEvent = func(e migrate.Event) {
			if e.Type == migrate.Awaited && strings.Contains(e.Message, "canary Service") {
				interrupt()
			}
		}
		err := migrate.Forward(ctx, r)
		assert.True(t, strings.Contains(fmt.Sprint(err), "interrupted"), err)
		w.swept(t)
	})
}

func TestANamespaceOfAnotherUserIsNotTouched(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		w.Put(canaryNamespace, `{"metadata":{"name":"rke-lm-canary"}}`)
		err := migrate.Forward(t.Context(), w.proving(t, "one"))
		assert.Truef(t, exitcode.Of(err) == exitcode.Refused && strings.Contains(fmt.Sprint(err), "that rke-lm did not create") && w.canaryWrites() == "" && w.Holds(canaryNamespace), "%v %s", err, w.canaryWrites())
	})
}

func TestAnErrorOfTheCloudControllersSinceTheBeginningFails(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		warning := corev1.Event{
			ObjectMeta: metav1.ObjectMeta{UID: "before", Namespace: "shop"}, Type: corev1.EventTypeWarning, Count: 1, Reason: "SyncLoadBalancerFailed", Message: "no subnet",
			Source: corev1.EventSource{Component: "service-controller"}, InvolvedObject: corev1.ObjectReference{Kind: "Service", Namespace: "shop", Name: "web"},
		}
		w.API.Do(func() { w.API.Events = []corev1.Event{warning} })
		r := w.proving(t, "one")
		assert.NilError(t, migrate.Forward(t.Context(), r))
		r = w.proving(t, "two")
		r.OnEvent = func(e migrate.Event) {
			if e.Type == migrate.Written {
				w.API.Do(func() { warning.UID = "since"; w.API.Events = append(w.API.Events, warning) })
			}
		}
		err := migrate.Forward(t.Context(), r)
		var u *migrate.Unproven
		assert.True(t, errors.As(err, &u) && exitcode.Of(err) == exitcode.Failed && strings.Contains(err.Error(), "service-controller on Service shop/web: SyncLoadBalancerFailed: no subnet"), err)
		w.swept(t)
	})
}

func TestOnlyTheFirstWaveProvesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMany(t, "alder", "birch")
		f := m.fleet([]string{"fleet-default/birch"}, 1, waves.Limits{})
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
