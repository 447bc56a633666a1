// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/controller"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform/live/transition"
)

// watch starts a process that leads and watches the API server, as the command does.
func (w *world) watch() {
	w.t.Helper()
	w.make()
	server := assert.Value(w.server())(w.t)
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	w.stop = cancel
	go func() {
		ended <- (&controller.Watch{Config: server.Local().Config(100), Namespace: namespace, Manager: w.manager}).Run(ctx)
	}()
	w.t.Cleanup(func() {
		cancel()
		assert.NilError(w.t, <-ended)
	})
}

// other puts another LeaderMigration, with parts in JSON, and returns its path.
func (w *world) other(name, spec, status string) string {
	w.Rancher.Put(w.t, `{"apiVersion":"rke-lm.io/v1alpha1","kind":"LeaderMigration","metadata":{"name":"`+name+`","namespace":"rke-lm","creationTimestamp":"`+time.Now().UTC().Format(time.RFC3339)+`"},"spec":`+spec+`,"status":`+status+`}`)
	return strings.Replace(path, "/summer", "/"+name, 1)
}

// becomes waits until a condition of the LeaderMigration at a path is true for a reason, and returns its message.
func (w *world) becomes(path, kind, reason string) string {
	w.t.Helper()
	for range 3600 {
		var o struct {
			Status struct{ Conditions []metav1.Condition }
		}
		assert.NilError(w.t, json.Unmarshal([]byte(w.Rancher.Object(path)), &o))
		if c := meta.FindStatusCondition(o.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionTrue && c.Reason == reason {
			return c.Message
		}
		time.Sleep(time.Second)
	}
	w.t.Fatalf("%s is not true for %s: %s\n%v", kind, reason, w.Rancher.Object(path), w.logs)
	return ""
}

const noStatus = `{}`

// A specification that no type of Go can hold, and a status, are those of an API server without the definition's schema.
func TestALeaderMigrationThatCannotBeDecodedIsAloneInItsTrouble(t *testing.T) {
	for name, c := range map[string]struct{ spec, status, want string }{
		"a timeout beyond a duration": {`{"selector":{},"timeout":"9999999h"}`, noStatus, `invalid duration "9999999h"`},
		"a soak beyond a duration":    {`{"selector":{},"waves":[{"name":"a","soak":"9999999h"}]}`, noStatus, `invalid duration "9999999h"`},
		"a number beyond an integer":  {`{"selector":{},"maxFailures":1e30}`, noStatus, "maxFailures"},
		"a number as a name":          {`{"selector":{},"waves":[{"name":7}]}`, noStatus, "name"},
		"a list as a selector":        {`{"selector":[]}`, noStatus, "selector"},
		"a time that is none":         {`{"selector":{}}`, `{"clusters":[{"name":"a","wave":"rest","state":"done","since":"2026-07-15 12:00"}],"waves":[{"name":"rest"}]}`, "status: "},
		"no specification":            {`[]`, noStatus, "spec: "},
	} {
		t.Run(name, func(t *testing.T) {
			on(t, `{"selector":{},"approval":"wave"}`, []string{"alder"}, func(t *testing.T, w *world) {
				bad := w.other("autumn", c.spec, c.status)
				w.watch()
				w.await(v1alpha1.Waiting, string(transition.ApprovalRequired))
				assert.Contains(t, w.becomes(bad, v1alpha1.Failed, "InvalidSpec"), c.want, w.Rancher.Object(bad))
				now := w.Rancher.Object(bad)
				assert.Truef(t, !strings.Contains(c.status, `"since"`) || strings.Contains(now, "2026-07-15 12:00"), "its status is lost: %s", now)
				writes := w.Rancher.Count("/leadermigrations/autumn/status")
				w.Rancher.Edit(path, func(o map[string]any) { o["spec"].(map[string]any)["pause"] = true })
				w.await(v1alpha1.Waiting, string(transition.Paused))
				time.Sleep(time.Hour)
				assert.Equal(t, w.Rancher.Count("/leadermigrations/autumn/status"), writes, "writes of its status in an hour")
				assert.NilError(t, w.manager.Live())
				w.unchanged(w.logs)
				w.Rancher.Edit(bad, func(o map[string]any) {
					o["spec"], o["status"] = map[string]any{"selector": map[string]any{}, "approval": "wave"}, map[string]any{}
				})
				w.becomes(bad, v1alpha1.Waiting, string(transition.ApprovalRequired))
			})
		})
	}
}

func TestALeaderMigrationThatCannotBeDecodedAnyMoreStopsBeforeItsNextStage(t *testing.T) {
	on(t, `{"selector":{},"approval":"stage"}`, []string{"alder"}, func(t *testing.T, w *world) {
		w.watch()
		w.await(v1alpha1.Waiting, string(transition.ApprovalRequired))
		w.Rancher.Edit(path, func(o map[string]any) { o["spec"].(map[string]any)["timeout"] = "9999999h" })
		w.becomes(path, v1alpha1.Waiting, "InvalidSpec")
		time.Sleep(time.Hour)
		w.unchanged()
		w.Rancher.Edit(path, func(o map[string]any) { delete(o["spec"].(map[string]any), "timeout") })
		w.await(v1alpha1.Waiting, string(transition.ApprovalRequired))
		assert.True(t, !w.isTrue(v1alpha1.Failed), "it is still not valid")
	})
}

// What the kubelet asks for turns red, although the process leads and renews its lease.
func TestAProcessThatSeesNoChangesIsNotAlive(t *testing.T) {
	on(t, `{"selector":{},"approval":"wave"}`, []string{"alder"}, func(t *testing.T, w *world) {
		w.watch()
		w.await(v1alpha1.Waiting, string(transition.ApprovalRequired))
		time.Sleep(time.Hour)
		assert.NilError(t, w.manager.Live())
		forbidden := ranchertest.Fault{Status: http.StatusForbidden, Body: `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"no"}`}
		w.Rancher.Fail(forbidden, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/leadermigrations") })
		w.Rancher.Drop()
		time.Sleep(5 * time.Minute)
		assert.NilError(t, w.manager.Live())
		time.Sleep(20 * time.Minute) // a watch that is open lasts up to ten of them
		assert.ErrorContains(t, w.manager.Live(), "LeaderMigration cannot be read since")
		w.Rancher.Do(func() { w.Rancher.Fault = nil })
		w.Rancher.Edit(path, func(o map[string]any) { o["spec"].(map[string]any)["pause"] = true })
		w.await(v1alpha1.Waiting, string(transition.Paused))
		assert.NilError(t, w.manager.Live())
	})
}

func TestAProcessWhoseLoopStopsIsNotAlive(t *testing.T) {
	on(t, `{"selector":{}}`, []string{"alder"}, func(t *testing.T, w *world) {
		stuck := make(chan struct{})
		w.onShow = func(m migrate.Member, _ migrate.Event) { <-stuck }
		w.run()
		time.Sleep(9 * time.Minute)
		assert.NilError(t, w.manager.Live())
		time.Sleep(2 * time.Minute)
		assert.ErrorContains(t, w.manager.Live(), "nothing was decided about the LeaderMigration rke-lm/summer since")
		close(stuck)
		w.await(v1alpha1.Complete, "")
		time.Sleep(time.Hour)
		assert.NilError(t, w.manager.Live())
	})
}
