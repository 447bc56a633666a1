// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/controller"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// wish sets the annotation that asks for another attempt, as kubectl annotate does.
func (w *world) wish(value string) { w.marked(path, v1alpha1.RetryAnnotation, value) }

// retry is a wish that the process hears.
func (w *world) retry(value string) {
	w.wish(value)
	w.manager.Changed(w.t.Context(), w.key, w.raw())
}

// managed sets whether Argo CD manages a cluster.
func (w *world) managed(cluster string, is bool) {
	w.marked(w.Worlds[cluster].Path, "argocd.argoproj.io/tracking-id", map[bool]string{true: "clusters"}[is])
}

// halfFailed is a world in which one cluster failed, one is skipped, and one was never started.
func halfFailed(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, `{"selector":{},"maxUnavailable":2,"waves":[{"name":"first","size":2}]}`, "alder", "birch", "cedar")
	w.managed("birch", true)
	w.interval = controller.Interval // alder waits until the timeout
	w.onShow = func(m migrate.Member, e migrate.Event) {
		if m.Cluster == "fleet-default/alder" && e.Type == migrate.Written && e.Stage == stages.InstallCCM {
			w.Worlds["alder"].Stick(true)
		}
	}
	w.run()
	w.await(v1alpha1.Failed, "TooManyFailures")
	assert.Must(t, w.states() == "alder=failed birch=skipped cedar=waiting", w.states())
	w.onShow = nil
	return w
}

func TestClustersThatFailedOrAreSkippedBeginAgainWhenAUserAsksForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := halfFailed(t)
		w.Worlds["alder"].Stick(false)
		w.Worlds["alder"].Follow()
		w.managed("birch", false)
		w.retry("1")
		w.await(v1alpha1.Complete, "")
		assert.Equal(t, w.states(), "alder=done birch=done cedar=done")
		assert.Equal(t, w.object().Status.ObservedRetry, "1")
		w.Migrated(t, "alder", "birch", "cedar")
		assert.Truef(t, !w.isTrue(v1alpha1.ManagedElsewhere) && w.events("ClusterRetried") == 2, "%d began again: %+v", w.events("ClusterRetried"), w.object().Status.Conditions)
	})
}

// A cluster that was another program's has no ConfigMap with its next change once it is migrated, and neither if the API server
// does not delete it at first.
func TestTheNextChangeOfAClusterThatIsMigratedIsDeleted(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const at = "/api/v1/namespaces/rke-lm/configmaps/summer.fleet-default.birch"
			w := halfFailed(t)
			assert.Mustf(t, strings.Contains(w.Rancher.Object(at), "Argo CD"), "there is no ConfigMap: %q", w.Rancher.Object(at))
			w.managed("birch", false)
			refused := 0
			w.Rancher.Fail(ranchertest.Fault{Status: http.StatusForbidden}, func(r *http.Request) bool {
				first := fails && refused == 0 && r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, at)
				if first {
					refused++
				}
				return first
			})
			w.retry("1")
			time.Sleep(24 * time.Hour)
			assert.Contains(t, w.states(), "birch=done")
			assert.Truef(t, w.Rancher.Object(at) == "" && fails == (refused == 1) && fails == (len(w.logs) > 0), "refused %d times, %q, %v", refused, w.Rancher.Object(at), w.logs)
		})
	}
}

func TestOneWishIsOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := halfFailed(t)
		w.retry("1")
		time.Sleep(24 * time.Hour)
		w.end()
		w.run() // another process, which reads the annotation too
		time.Sleep(24 * time.Hour)
		assert.Equal(t, w.states(), "alder=failed birch=skipped cedar=waiting")
		assert.Equal(t, w.events("ClusterRetried"), 1)
		w.Worlds["alder"].Stick(false)
		w.Worlds["alder"].Follow()
		w.retry("2")
		w.await(v1alpha1.Complete, "")
		assert.Equal(t, w.states(), "alder=done birch=skipped cedar=done")
		assert.Equal(t, w.Worlds["birch"].Patches(), 0)
	})
}

func TestAnotherProcessFulfillsAWish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := halfFailed(t)
		w.end()
		w.Worlds["alder"].Stick(false)
		w.Worlds["alder"].Follow()
		w.managed("birch", false)
		w.wish("1")
		w.interval = 0 // a process lives for seconds
		starts, got := w.restarted(29), w.states()
		assert.Truef(t, starts >= 5 && got == "alder=done birch=done cedar=done" && w.object().Status.ObservedRetry == "1", "%d starts with the seed 29: %s", starts, got)
		w.Migrated(t, "alder", "birch", "cedar")
		for _, c := range w.object().Status.Clusters {
			assert.True(t, c.State == string(transition.Done) && c.TwoOwnersSeconds == 0 && !c.RolledBack && c.Message == "", c)
		}
	})
}
