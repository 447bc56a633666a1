// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/controller"
	"github.com/rke-lm/rke-lm/internal/migrate"
)

// scraped is what Prometheus reads.
func scraped(m *controller.Metrics) string {
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	return answer.Body.String()
}

func TestPrometheusReadsHowFarClustersAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, `{"selector":{},"maxFailures":1}`, "alder", "birch")
		w.Worlds["birch"].Stick(true)
		var m *controller.Metrics
		w.onShow = func(of migrate.Member, e migrate.Event) {
			if m == nil {
				m = controller.NewMetrics(w.manager)
				m.Active(true)
			}
			m.Observe("rke-lm/summer", of, e)
		}
		w.run()
		w.await(v1alpha1.Complete, "")
		text := scraped(m)
		for _, want := range []string{
			`rke_lm_clusters{migration="rke-lm/summer",stage="verify-provider-ids",state="done"} 1`,
			`rke_lm_clusters{migration="rke-lm/summer",stage="enable-leader-migration",state="failed"} 1`,
			`rke_lm_failures_total{migration="rke-lm/summer"} 1`,
			`rke_lm_two_owners_seconds_total{cluster="fleet-default/alder"} 0`,
			`rke_lm_no_owner_seconds_count{stage="switch-to-external"} 1`, "rke_lm_active 1",
		} {
			if !strings.Contains(text, want+"\n") {
				t.Errorf("no %s in\n%s", want, text)
			}
		}
		m.Active(false)
		if !strings.Contains(scraped(m), "rke_lm_active 0\n") {
			t.Error("a process that is not active says that it is")
		}
	})
}
