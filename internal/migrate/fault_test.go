// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestAnEditOfAnotherClientStopsTheRunAndTheNextContinues(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		r := w.run(t, "one", logged(t))
		w.Stick(true)
		r.OnEvent = func(e migrate.Event) {
			logged(t)(e)
			if e.Type == migrate.Written && e.Stage == stages.GrantMigrationLease && strings.HasPrefix(e.Message, "patch") {
				w.Rancher.Edit(migratetest.RKE2Path, func(o map[string]any) {
					config := o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["machineGlobalConfig"].(map[string]any)
					config["profile"] = "cis"
				})
			}
		}
		err := migrate.Forward(t.Context(), r)
		assert.Must(t, strings.Contains(fmt.Sprint(err), "another user changed the object") && exitcode.Of(err) == exitcode.Refused && strings.Contains(err.Error(), "to continue: again"), err)
		w.Stick(false)
		w.Follow()
		w.migrate(t, "two")
		s := w.Spec(t)
		assert.True(t, strings.Contains(s, `"profile":"cis"`) && strings.Contains(s, `"external"`), s)
	})
}

const stayCordoned = "nodes that were cordoned for the switch stay cordoned until the next run uncordons them:"

// faults are what happens at the confirmation of the switch, when the nodes are cordoned, and how the run ends. Once that is
// repaired, the next run comes to the end of an undisturbed one.
var faults = map[string]struct {
	fault    func(w *world, interrupt func()) (confirmed bool)
	code     int
	wants    []string
	cordoned int // and the lock is kept, where no request passes
	repair   func(w *world)
}{
	"a machine does not follow": {func(w *world, _ func()) bool { w.Stick(true); return true }, exitcode.Failed, []string{
		"machine orchard-servers-0: its plan does not have the change yet: cloud-provider-name", "stopped at switch-to-external",
		"done: grant-migration-lease, enable-leader-migration, install-ccm, cordon-control-plane\n", "the change of switch-to-external is in the cluster's object", "to continue: again", "to roll back: back",
	}, 0, func(w *world) { w.Stick(false); w.Follow() }},
	"it is not confirmed":   {func(*world, func()) bool { return false }, exitcode.Failed, []string{"not confirmed", "the one that holds the migration lease, and the other one waits"}, 0, func(*world) {}},
	"it is interrupted":     {func(_ *world, interrupt func()) bool { interrupt(); return false }, exitcode.Failed, []string{"interrupted"}, 0, func(*world) {}},
	"it panics":             {func(*world, func()) bool { panic("a bug") }, exitcode.Input, []string{"report this as a bug of rke-lm", "to continue: again"}, 0, func(*world) {}},
	"the token expires":     {func(w *world, _ func()) bool { w.expire(true); return true }, exitcode.Refused, []string{stayCordoned}, 3, func(w *world) { w.expire(false) }},
	"and it is interrupted": {func(w *world, interrupt func()) bool { w.expire(true); interrupt(); return false }, exitcode.Refused, []string{"stopped at switch-to-external: interrupted", stayCordoned}, 3, func(w *world) { w.expire(false) }},
	"a node is not released": {func(w *world, _ func()) bool {
		w.fail("/nodes/"+w.API.Nodes[0].Name, http.StatusForbidden)
		return false
	}, exitcode.Refused, []string{stayCordoned}, 1, func(w *world) { w.expire(false) }},
}

func TestARunThatAFaultEndsIsContinuedByTheNext(t *testing.T) {
	for name, c := range faults {
		t.Run(name, func(t *testing.T) {
			onRKE2(t, func(t *testing.T, w *world) {
				r := w.logged(t, "one")
				r.AuditLog = filepath.Join(t.TempDir(), "audit.jsonl")
				ctx, interrupt := context.WithCancel(t.Context())
				r.Confirm = func(ctx context.Context, stage string) (bool, error) {
					if stage != stages.SwitchToExternal {
						return true, nil
					}
					assert.Truef(t, len(w.Cordoned()) == 3, "cordoned: %v", w.Cordoned())
					confirmed := c.fault(w, interrupt)
					return confirmed, context.Cause(ctx)
				}
				err := migrate.Forward(ctx, r)
				var denied *kube.Denied
				assert.Mustf(t, exitcode.Of(err) == c.code && (c.cordoned != 3 || errors.As(err, &denied)), "exit code %d: %v", exitcode.Of(err), err)
				for _, want := range c.wants {
					assert.Contains(t, err.Error(), want, err)
				}
				audited(t, r.AuditLog)
				left := w.Cordoned()
				assert.Truef(t, len(left) == c.cordoned && (c.cordoned >= 3 || w.Rancher.Object(w.Lock) == ""), "cordoned: %v, lock: %s", left, w.Rancher.Object(w.Lock))
				c.repair(w)
				w.migrate(t, "two")
				w.finished(t, undisturbed(t))
			})
		})
	}
}

func TestTwoOwnersEndTheRunLongBeforeItsTime(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		follow := w.Follow
		w.Follow = func() {
			follow()
			w.API.Do(func() { // someone runs the cloud-controller-manager without the flag
				alone := func(args []string) []string {
					return slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.Contains(a, "leader-migration") })
				}
				for i, p := range w.API.Pods {
					if c := &p.Spec.Containers[0]; c.Name != "kube-controller-manager" {
						w.API.Pods[i].Spec.Containers = []corev1.Container{{Name: c.Name, Image: c.Image, Args: alone(c.Args)}}
					}
				}
			})
		}
		r := w.run(t, "one", logged(t))
		r.Timeout = time.Hour
		begun := time.Now()
		err := migrate.Forward(t.Context(), r)
		took := time.Since(begun)
		assert.Truef(t, took <= 5*time.Minute, "it took %s", took)
		assert.Must(t, exitcode.Of(err) == exitcode.Failed && strings.Contains(fmt.Sprint(err), "both managers run the cloud controllers, so the run does not wait:"), err)
		assert.True(t, strings.Contains(err.Error(), "stopped at install-ccm") && len(w.Cordoned()) == 0, err)
	})
}

func TestAServerThatIsDownForAWhileIsWaitedFor(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		r := w.run(t, "one", logged(t))
		var down time.Time
		w.Rancher.Do(func() {
			w.Rancher.Fault = func(*http.Request) (f ranchertest.Fault) {
				if time.Now().Before(down) {
					f.Status = http.StatusServiceUnavailable
				}
				return f
			}
		})
		r.OnEvent = func(e migrate.Event) {
			logged(t)(e)
			if e.Type == migrate.Written && strings.HasPrefix(e.Message, "patch") {
				w.Rancher.Do(func() { down = time.Now().Add(2 * retryTime) }) // longer than a request is retried
			}
		}
		r.Until = stages.EnableLeaderMigration
		assert.NilError(t, migrate.Forward(t.Context(), r))
	})
}

// fail answers requests below a path with a status, or none again.
func (w *world) fail(path string, status int) {
	w.Rancher.Do(func() {
		w.Rancher.Fault = func(q *http.Request) (f ranchertest.Fault) {
			if path == "" || q.Method == http.MethodPatch && strings.HasSuffix(q.URL.Path, path) {
				f.Status = status
			}
			return f
		}
	})
}

// expire lets the token expire, or be good again.
func (w *world) expire(is bool) { w.fail("", map[bool]int{true: http.StatusUnauthorized}[is]) }

func TestANodeThatGoesWhileItIsCordonedIsPassedOver(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		name := w.API.Nodes[1].Name
		w.fail("/nodes/"+name, http.StatusNotFound)
		assert.NilError(t, w.does(t, "one", migrate.Forward, until(stages.CordonControlPlane)))
		left := w.Cordoned()
		assert.Truef(t, len(left) == 0, "cordoned: %v", left)
	})
}
