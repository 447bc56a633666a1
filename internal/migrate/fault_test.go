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
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestAnEditOfAnotherClientStopsTheRunAndTheNextContinues(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		w.Stick(true)
		err := w.does(t, "one", migrate.Forward, onPatch(stages.GrantMigrationLease, func() {
			w.Rancher.Edit(migratetest.RKE2Path, func(o map[string]any) { machineConfig(o)["profile"] = "cis" })
		}))
		assert.Must(t, strings.Contains(fmt.Sprint(err), "another user changed the object") && transform.ExitCodeOf(err) == transform.ExitRefused && strings.Contains(err.Error(), "to continue: again"), err)
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
	"a machine does not follow": {func(w *world, _ func()) bool { w.Stick(true); return true }, transform.ExitFailed, []string{
		"machine orchard-servers-0: its plan does not have the change yet: cloud-provider-name", "stopped at switch-to-external",
		"done: grant-migration-lease, enable-leader-migration, install-ccm, cordon-control-plane\n", "the change of switch-to-external is in the cluster's object", "to continue: again", "to roll back: back",
	}, 0, func(w *world) { w.Stick(false); w.Follow() }},
	"it is not confirmed":   {func(*world, func()) bool { return false }, transform.ExitFailed, []string{"not confirmed", "the one that holds the migration lease, and the other one waits"}, 0, func(*world) {}},
	"it is interrupted":     {func(_ *world, interrupt func()) bool { interrupt(); return false }, transform.ExitFailed, []string{"interrupted"}, 0, func(*world) {}},
	"it panics":             {func(*world, func()) bool { panic("a bug") }, transform.ExitInput, []string{"report this as a bug of rke-lm", "to continue: again"}, 0, func(*world) {}},
	"the token expires":     {func(w *world, _ func()) bool { w.expire(true); return true }, transform.ExitRefused, []string{stayCordoned}, 3, func(w *world) { w.expire(false) }},
	"and it is interrupted": {func(w *world, interrupt func()) bool { w.expire(true); interrupt(); return false }, transform.ExitRefused, []string{"stopped at switch-to-external: interrupted", stayCordoned}, 3, func(w *world) { w.expire(false) }},
	"a node is not released": {func(w *world, _ func()) bool {
		w.fail("/nodes/"+w.API.Nodes[0].Name, http.StatusForbidden)
		return false
	}, transform.ExitRefused, []string{stayCordoned}, 1, func(w *world) { w.expire(false) }},
}

func TestARunThatAFaultEndsIsContinuedByTheNext(t *testing.T) {
	for name, c := range faults {
		t.Run(name, func(t *testing.T) {
			onRKE2(t, func(t *testing.T, w *world) {
				r := w.run(t, "one", logged(t))
				r.AuditLog = filepath.Join(t.TempDir(), "audit.jsonl")
				ctx, interrupt := context.WithCancel(t.Context())
				r.Confirm = func(ctx context.Context, stage string) (bool, error) {
					if stage != stages.SwitchToExternal {
						return true, nil
					}
					assert.Equal(t, len(w.Cordoned()), 3, "cordoned")
					confirmed := c.fault(w, interrupt)
					return confirmed, context.Cause(ctx)
				}
				err := migrate.Forward(ctx, r)
				assert.Mustf(t, transform.ExitCodeOf(err) == c.code && (c.cordoned != 3 || errors.As(err, new(*kube.Denied))), "exit code %d: %v", transform.ExitCodeOf(err), err)
				assert.ContainsAll(t, err.Error(), c.wants)
				audited(t, r.AuditLog)
				assert.Equal(t, len(w.Cordoned()), c.cordoned, "cordoned")
				assert.True(t, c.cordoned >= 3 || w.Rancher.Object(w.Lock) == "", w.Rancher.Object(w.Lock))
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
		begun := time.Now()
		err := w.does(t, "one", migrate.Forward, func(_ *world, o *migrate.Options) { o.Timeout = time.Hour })
		assert.Truef(t, time.Since(begun) <= 5*time.Minute, "it took %s", time.Since(begun))
		assert.Must(t, transform.ExitCodeOf(err) == transform.ExitFailed && strings.Contains(fmt.Sprint(err), "both managers run the cloud controllers, so the run does not wait:"), err)
		assert.True(t, strings.Contains(err.Error(), "stopped at install-ccm") && len(w.Cordoned()) == 0, err)
	})
}

func TestAServerThatIsDownForAWhileIsWaitedFor(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		var down time.Time
		w.Rancher.Fail(ranchertest.Fault{Status: http.StatusServiceUnavailable}, func(*http.Request) bool { return time.Now().Before(down) })
		goesDown := onPatch("", func() {
			w.Rancher.Do(func() { down = time.Now().Add(2 * retryTime) }) // longer than a request is retried
		})
		assert.NilError(t, w.does(t, "one", migrate.Forward, goesDown, until(stages.EnableLeaderMigration)))
	})
}

// fail answers requests below a path with a status, or none again.
func (w *world) fail(path string, status int) {
	w.Rancher.Fail(ranchertest.Fault{Status: status}, func(q *http.Request) bool {
		return path == "" || q.Method == http.MethodPatch && strings.HasSuffix(q.URL.Path, path)
	})
}

// expire lets the token expire, or be good again.
func (w *world) expire(is bool) { w.fail("", map[bool]int{true: http.StatusUnauthorized}[is]) }

func TestANodeThatGoesWhileItIsCordonedIsSkipped(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		w.fail("/nodes/"+w.API.Nodes[1].Name, http.StatusNotFound)
		assert.NilError(t, w.does(t, "one", migrate.Forward, until(stages.CordonControlPlane)))
		assert.EqualSlices(t, w.Cordoned(), nil, "cordoned")
	})
}
