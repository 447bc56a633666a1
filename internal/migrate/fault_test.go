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
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestAnEditOfAnotherClientStopsTheRunAndTheNextContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
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
		if !strings.Contains(fmt.Sprint(err), "another user changed the object") || exitcode.Of(err) != exitcode.Refused || !strings.Contains(err.Error(), "to continue: again") {
			t.Fatalf("%v", err)
		}
		w.Stick(false)
		w.Follow()
		w.migrate(t, "two")
		if s := w.Spec(t); !strings.Contains(s, `"profile":"cis"`) || !strings.Contains(s, `"external"`) {
			t.Errorf("%s", s)
		}
	})
}

func TestAMachineThatDoesNotFollowEndsTheRunInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
		r := w.run(t, "one", logged(t))
		r.Confirm = func(_ context.Context, stage string) (bool, error) {
			w.Stick(stage == stages.SwitchToExternal)
			return true, nil
		}
		err := migrate.Forward(t.Context(), r)
		if exitcode.Of(err) != exitcode.Failed || !strings.Contains(fmt.Sprint(err), "machine orchard-servers-0: its plan does not have the change yet: cloud-provider-name") {
			t.Fatalf("%v", err)
		}
		for _, want := range []string{"stopped at switch-to-external", "done: grant-migration-lease, enable-leader-migration, install-ccm, cordon-control-plane\n", "the change of switch-to-external is in the cluster's object", "to continue: again", "to roll back: back"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v\nlacks %s", err, want)
			}
		}
		if left := w.Cordoned(); len(left) > 0 {
			t.Errorf("cordoned: %v", left)
		}
		w.Stick(false)
		w.Follow()
		w.migrate(t, "two")
		w.finished(t, undisturbed(t))
	})
}

func TestTwoOwnersEndTheRunLongBeforeItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
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
		if took := time.Since(begun); took > 5*time.Minute {
			t.Errorf("it took %s", took)
		}
		if exitcode.Of(err) != exitcode.Failed || !strings.Contains(fmt.Sprint(err), "both managers run the cloud controllers, so the run does not wait:") {
			t.Fatalf("%v", err)
		}
		if !strings.Contains(err.Error(), "stopped at install-ccm") || len(w.Cordoned()) > 0 {
			t.Errorf("%v", err)
		}
	})
}

func TestARunThatIsInterruptedReleasesWhatItCordoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
		ctx, interrupt := context.WithCancel(t.Context())
		log := filepath.Join(t.TempDir(), "audit.jsonl")
		r := w.run(t, "one", logged(t))
		r.AuditLog = log
		r.Confirm = func(ctx context.Context, stage string) (bool, error) {
			if stage == stages.SwitchToExternal {
				if len(w.Cordoned()) != 3 {
					t.Errorf("cordoned: %v", w.Cordoned())
				}
				interrupt()
				return false, context.Cause(ctx)
			}
			return true, nil
		}
		err := migrate.Forward(ctx, r)
		if exitcode.Of(err) != exitcode.Failed || !strings.Contains(fmt.Sprint(err), "interrupted") {
			t.Errorf("%v", err)
		}
		if left := w.Cordoned(); len(left) > 0 || w.Rancher.Object(w.Lock) != "" {
			t.Errorf("cordoned: %v", left)
		}
		audited(t, log)
	})
}

func TestAPanicLeavesNoLockAndNoCordonedNode(t *testing.T) {
	w := rke2World(t)
	r := w.run(t, "one", logged(t))
	r.Confirm = func(_ context.Context, stage string) (bool, error) {
		if stage == stages.SwitchToExternal {
			panic("a bug")
		}
		return true, nil
	}
	err := migrate.Forward(t.Context(), r)
	if exitcode.Of(err) != exitcode.Input || !strings.Contains(fmt.Sprint(err), "report this as a bug of rke-lm") || !strings.Contains(err.Error(), "to continue: again") {
		t.Errorf("%v", err)
	}
	if left := w.Cordoned(); len(left) > 0 || w.Rancher.Object(w.Lock) != "" {
		t.Errorf("cordoned: %v, lock: %s", left, w.Rancher.Object(w.Lock))
	}
}

func TestAServerThatIsDownForAWhileIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
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
		if err := migrate.Forward(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	})
}

// expire lets the token expire, or be good again.
func (w *world) expire(is bool) {
	w.Rancher.Do(func() {
		w.Rancher.Fault = func(*http.Request) (f ranchertest.Fault) {
			if is {
				f.Status = http.StatusUnauthorized
			}
			return f
		}
	})
}

func TestATokenThatExpiresStopsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
		r := w.run(t, "one", logged(t))
		r.Confirm = func(_ context.Context, stage string) (bool, error) {
			w.expire(stage == stages.SwitchToExternal)
			return true, nil
		}
		err := migrate.Forward(t.Context(), r)
		var denied *kube.Denied
		if !errors.As(err, &denied) || exitcode.Of(err) != exitcode.Refused {
			t.Fatalf("%v", err)
		}
		if !strings.Contains(err.Error(), "nodes that were cordoned for the switch stay cordoned until the next run uncordons them:") {
			t.Errorf("%v", err)
		}
		w.expire(false)
		if len(w.Cordoned()) != 3 {
			t.Error("the test does not leave nodes cordoned")
		}
		w.Rancher.Remove(w.Lock)
		w.migrate(t, "two")
		w.finished(t, undisturbed(t))
	})
}

func TestAnInterruptedRunSaysThatItCouldNotReleaseItsNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
		ctx, interrupt := context.WithCancel(t.Context())
		r := w.run(t, "one", logged(t))
		r.Confirm = func(ctx context.Context, stage string) (bool, error) {
			if stage == stages.SwitchToExternal {
				w.expire(true)
				interrupt()
			}
			return true, context.Cause(ctx)
		}
		err := migrate.Forward(ctx, r)
		for _, want := range []string{"stopped at switch-to-external: interrupted", "nodes that were cordoned for the switch stay cordoned until the next run uncordons them:"} {
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%v\nlacks %s", err, want)
			}
		}
	})
}

func TestANodeThatCannotBeReleasedKeepsNoneOfTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
		r := w.run(t, "one", logged(t))
		broken := false
		w.Rancher.Do(func() {
			w.Rancher.Fault = func(q *http.Request) (f ranchertest.Fault) {
				if broken && q.Method == http.MethodPatch && strings.HasSuffix(q.URL.Path, "/nodes/"+w.API.Nodes[0].Name) {
					f.Status = http.StatusForbidden
				}
				return f
			}
		})
		r.Confirm = func(_ context.Context, stage string) (bool, error) {
			w.Rancher.Do(func() { broken = stage == stages.SwitchToExternal })
			return stage != stages.SwitchToExternal, nil
		}
		err := migrate.Forward(t.Context(), r)
		if left := w.Cordoned(); len(left) != 1 || left[0] != w.API.Nodes[0].Name || !strings.Contains(fmt.Sprint(err), "nodes that were cordoned for the switch stay cordoned until the next run uncordons them:") {
			t.Errorf("cordoned: %v, %v", left, err)
		}
	})
}

func TestANodeThatGoesWhileItIsCordonedIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
		name := w.API.Nodes[1].Name
		w.Rancher.Do(func() {
			w.Rancher.Fault = func(q *http.Request) (f ranchertest.Fault) {
				if q.Method == http.MethodPatch && strings.HasSuffix(q.URL.Path, "/nodes/"+name) {
					f.Status = http.StatusNotFound
				}
				return f
			}
		})
		r := w.run(t, "one", logged(t))
		r.Until = stages.CordonControlPlane
		if err := migrate.Forward(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if left := w.Cordoned(); len(left) > 0 {
			t.Errorf("cordoned: %v", left)
		}
	})
}
