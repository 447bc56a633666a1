// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	core "k8s.io/client-go/testing"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/assert"
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
	on(t, `{"selector":{},"maxFailures":1}`, []string{"alder", "birch"}, func(t *testing.T, w *world) {
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
			assert.Contains(t, text, want+"\n", want)
		}
		m.Active(false)
		assert.Contains(t, scraped(m), "rke_lm_active 0\n", "a process that is not active says that it is")
	})
}

// reviewer is an API server that knows a token, and one user who has permission.
type reviewer struct {
	*fake.Clientset
	broken error
}

func newReviewer() *reviewer {
	r := &reviewer{Clientset: fake.NewClientset()}
	r.PrependReactor("create", "tokenreviews", func(a core.Action) (bool, runtime.Object, error) {
		t := a.(core.CreateAction).GetObject().(*authentication.TokenReview)
		switch t.Spec.Token {
		case "of-prometheus", "of-another":
			t.Status = authentication.TokenReviewStatus{Authenticated: true, User: authentication.UserInfo{Username: t.Spec.Token, UID: "1", Groups: []string{"g"}, Extra: map[string]authentication.ExtraValue{"k": {"v"}}}}
		}
		return true, t, r.broken
	})
	r.PrependReactor("create", "subjectaccessreviews", func(a core.Action) (bool, runtime.Object, error) {
		s := a.(core.CreateAction).GetObject().(*authorization.SubjectAccessReview)
		what := *s.Spec.NonResourceAttributes
		s.Status.Allowed = s.Spec.User == "of-prometheus" && s.Spec.UID == "1" && slices.Equal(s.Spec.Groups, []string{"g"}) && s.Spec.Extra["k"][0] == "v" && what == authorization.NonResourceAttributes{Path: "/metrics", Verb: "get"}
		return true, s, nil
	})
	return r
}

func TestMetricsAreReadByUsersWithPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newReviewer()
		of := &controller.Readers{Client: api, Next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "the metrics") })}
		get := func(header string) string {
			answer, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
			if header != "" {
				r.Header.Set("Authorization", header)
			}
			of.ServeHTTP(answer, r)
			return fmt.Sprintf("%d %s", answer.Code, answer.Body)
		}
		for _, c := range []struct{ header, want string }{
			{"", "401 Unauthorized\n"}, {"Basic b2YtcHJvbWV0aGV1czo=", "401 Unauthorized\n"}, {"Bearer ", "401 Unauthorized\n"}, {"Bearer wrong", "401 Unauthorized\n"},
			{"Bearer of-another", "403 Forbidden\n"}, {"Bearer of-prometheus", "200 the metrics"},
		} {
			assert.Equal(t, get(c.header), c.want, c.header)
		}
		api.broken = errors.New("no API server")
		assert.Equal(t, get("Bearer of-prometheus"), "503 Service Unavailable\n", "a permission of before counts")
	})
}
