// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/stages"
)

type work = func(context.Context, migrate.Options) error

// runs are the kinds of runs, each with a world to begin in, its choices, and what the object, the last call of helm and the log have once
// it is complete, and nothing of what follows an empty text. A rollback without that brings back the object of before.
var runs = map[string]struct {
	world func(*testing.T) *world
	work  work
	with  choices
	twice bool // both managers run the cloud controllers in between, by choice
	shows []string
}{
	"migrate RKE2": {rke2World, migrate.Forward, func(_ *world, o *migrate.Options) { o.EtcdSnapshot, o.CanaryService = true, true }, false, []string{
		"chart: aws-cloud-controller-manager", `"cloud-provider-name":"external"`, "", "enable-leader-migration=",
	}},
	"roll RKE2 back":                          {migrated, migrate.Backward, usual, false, nil},
	"migrate RKE2 without leader migration":   {rke2World, migrate.Forward, alone, false, []string{"chart: aws-cloud-controller-manager", `"cloud-provider-name":"external"`, "patched: switch-to-external", "", "patched: switch-to-external "}},
	"roll RKE2 back without leader migration": {after(rke2World, alone), migrate.Backward, alone, false, nil},
	"migrate RKE1":                            {rke1World, migrate.Forward, canonical, false, []string{`"external-aws"`, "aws-ccm-values-final.yaml", "", `"enable-leader-migration"`, "enable-leader-migration="}},
	"roll RKE1 back":                          {after(rke1World, canonical), migrate.Backward, canonical, false, []string{`"name":"aws"`, "uninstall", "", "external-aws", `"enable-leader-migration"`, "RoleBinding"}},
	"migrate RKE1 without leader migration":   {rke1World, migrate.Forward, alone1, true, []string{`"external-aws"`}},
	"roll RKE1 back without leader migration": {after(rke1World, alone1), migrate.Backward, alone1, true, []string{`"name":"aws"`, "uninstall", "", "external-aws"}},
	"migrate past 1.26, with a registration":  {stubbed, migrate.Forward, restarting, false, []string{"chart: aws-cloud-controller-manager"}},
	"migrate past 1.26, and from minor to minor": {late126, migrate.Forward, targeting(transform.Target{Version: "v1.33.3+rke2r1"}), false, []string{
		"chart: aws-cloud-controller-manager", `"cloud-provider-name":"aws"`, "cloud-provider=external", `"kubernetesVersion":"v1.33.3+rke2r1"`, "tag: v1.33.4",
		" upgrade-kubernetes upgrade-ccm upgrade-kubernetes upgrade-ccm", "", "enable-leader-migration=",
	}},
}

// late126 is a cluster past 1.26 whose last Node has no provider ID.
func late126(t *testing.T) *world { return past126(t, func(*corev1.Node) {}) }

// alone1 is without leader migration for RKE1.
func alone1(w *world, o *migrate.Options) { alone(w, o); canonical(w, o) }

// after makes a world after a migration.
func after(before func(*testing.T) *world, with choices) func(*testing.T) *world {
	return func(t *testing.T) *world {
		t.Helper()
		w := before(t)
		w.before = w.Spec(t)
		r := w.run(t, "before", nil)
		with(w, &r)
		assert.NilError(t, migrate.Forward(t.Context(), r))
		return w
	}
}

// migrated is a world after its migration.
func migrated(t *testing.T) *world { return after(rke2World, usual)(t) }

// death is what a process leaves that dies at a request.
type death struct {
	left, at string
	log      []byte
	held     bool // the lock
	back     func()
}

// deaths runs to the end, and returns what the process had left if it had died at a request, before the server has done it or after.
// Of the requests at which nothing else is left there is one: no next run can tell them apart.
func (w *world) deaths(t *testing.T, work work, r migrate.Options) (list []death) {
	t.Helper()
	var mu sync.Mutex
	seen, writes, confirmed := map[string]bool{}, 0, false
	w.Forget()
	w.Around = func(q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if n := len(w.Writes()); n > writes {
			assert.Truef(t, confirmed, "%s %s without a renewal of the lock before it", q.Method, q.URL.Path)
			writes, confirmed = n, false
		}
		confirmed = confirmed || q.Method != http.MethodGet && strings.Contains(q.URL.Path, "/leases")
		log, _ := os.ReadFile(r.AuditLog)
		lock := w.Rancher.Object(w.Lock)
		left := fmt.Sprintf("%d writes, %d entries, locked: %t, with a helm: %t that said %q", len(w.Writes()), bytes.Count(log, []byte("\n")), lock != "", strings.Contains(lock, "rke-lm.io/helm"), w.helmOutput())
		if !seen[left] {
			seen[left] = true
			list = append(list, death{left, q.Method + " " + q.URL.Path, log, strings.Contains(lock, r.User.Host+"/"), w.Keep()})
		}
	}
	assert.NilError(t, work(t.Context(), r))
	w.Around = nil
	return list
}

// end is to what a run has come: the object, what the cluster has, and that nothing of the run is left.
func (w *world) end(t *testing.T) string {
	t.Helper()
	var spec map[string]any
	assert.NilError(t, json.Unmarshal([]byte(w.Spec(t)), &spec))
	if config, is := spec["rkeConfig"].(map[string]any); is {
		delete(config, "etcdSnapshotCreate")
	}
	text := fmt.Sprintln(spec, "\nlock:", w.Rancher.Object(w.Lock), "\ncordoned:", w.Cordoned(), "\napplied:", w.Applied())
	w.API.Do(func() {
		for _, n := range w.API.Nodes {
			unsettled := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == observed.Uninitialized })
			assert.Truef(t, strings.HasPrefix(n.Spec.ProviderID, "aws:///") && !unsettled, "%s has the provider ID %q and the taints %v", n.Name, n.Spec.ProviderID, n.Spec.Taints)
			text += fmt.Sprintln(n.Name, n.Spec.ProviderID, n.Spec.Unschedulable, n.Spec.Taints)
		}
	})
	return text + w.helmOutput()
}

// helmOutput is the last call of helm that changed something.
func (w *world) helmOutput() string {
	text, _ := os.ReadFile(w.Helm)
	return string(text)
}

// patched lists the stages whose patches a log has, in their order. Once the cluster has the chosen release, nothing in it shows an upgrade.
func patched(log []migrate.Entry) string {
	var list []string
	for _, e := range log {
		if e.Act == "patch" && (e.Result == "done" || e.Result == "found-done" || e.Result == "found-unknown" && strings.HasPrefix(e.Stage, "upgrade-")) {
			list = append(list, e.Stage)
		}
	}
	return "patched: " + strings.Join(list, " ")
}

// TestARunThatDiesAtAnyRequestIsResumed lets the process die at each request of a run, to Rancher and to the cluster, and another
// one continue. The short test takes every fourth of the deaths: three kinds of them take turns, before an intent, after it, and after the
// write.
func TestARunThatDiesAtAnyRequestIsResumed(t *testing.T) {
	for name, kind := range runs {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := kind.world(t)
				log := filepath.Join(t.TempDir(), "audit.jsonl")
				run := func(agent string, note func(migrate.Event)) migrate.Options {
					r := w.run(t, agent, note)
					kind.with(w, &r)
					r.AuditLog = log
					return r
				}
				list := w.deaths(t, kind.work, run("one", nil))
				want, stages := w.end(t), patched(audited(t, log))
				spec, show := w.Spec(t), true
				for _, part := range kind.shows {
					show = show && part != ""
					assert.Truef(t, part == "" || strings.Contains(spec+w.helmOutput()+stages, part) == show, "%q: %s %s", part, spec, stages)
				}
				assert.Truef(t, kind.shows != nil || spec == w.before, "it is not the object of before: %s\n%s", spec, w.before)
				assert.Truef(t, len(list) >= 4 && len(w.Cordoned()) == 0 && w.Rancher.Object(w.Lock) == "" && w.TwoOwners() == kind.twice, "%d deaths, two owners: %t, %s", len(list), w.TwoOwners(), want)
				for i, d := range list {
					if testing.Short() && i%4 != 1 {
						continue
					}
					d.back()
					assert.NilError(t, os.WriteFile(log, d.log, 0o600))
					begun, took := time.Now(), time.Duration(-1)
					r := run("next", func(e migrate.Event) {
						if e.Type == migrate.Began && took < 0 {
							took = time.Since(begun)
						}
					})
					r.EtcdSnapshot, r.CanaryService = false, false
					err := kind.work(t.Context(), r)
					assert.Mustf(t, err == nil, "death %d, at %s (%s): %v", i, d.at, d.left, err)
					assert.Truef(t, d.held == (took >= 15*time.Second) && took <= 20*time.Second, "the lock was taken over after %s", took)
					end, now := w.end(t), patched(audited(t, log))
					assert.Mustf(t, end == want && now == stages && (kind.twice || !w.TwoOwners()), "death %d, at %s (%s): two owners: %t, %s, end:\n%s\nwant %s:\n%s", i, d.at, d.left, w.TwoOwners(), now, end, stages, want)
				}
				w.Forget()
				before := w.Rancher.Objects()
				r := run("again", nil)
				r.EtcdSnapshot, r.CanaryService = false, false
				assert.NilError(t, kind.work(t.Context(), r))
				assert.Truef(t, len(w.Writes()) == 0 && maps.Equal(before, w.Rancher.Objects()), "the run that has nothing left to do writes: %v", w.Writes())
			})
		})
	}
}

// start runs a migration in parallel to the test.
func (w *world) start(t *testing.T, r migrate.Options, work work) <-chan error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var over sync.WaitGroup
	t.Cleanup(func() { cancel(); over.Wait() })
	ended := make(chan error, 1)
	over.Go(func() { ended <- work(ctx, r) })
	return ended
}

// loseLock gives the lock of a run to another one.
func (w *world) loseLock() {
	w.Rancher.Edit(w.Lock, func(o map[string]any) { o["spec"].(map[string]any)["holderIdentity"] = "another/1/x" })
}

func TestOfTwoRunsOneIsRefused(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		held, done := make(chan struct{}), make(chan struct{})
		first := w.run(t, "one", nil)
		first.Confirm = func(context.Context, string) (bool, error) {
			select {
			case <-held:
			default:
				close(held)
				<-done
			}
			return true, nil
		}
		ended := w.start(t, first, migrate.Forward)
		<-held
		err := w.does(t, "two", migrate.Forward)
		var by *migrate.Locked
		assert.True(t, errors.As(err, &by) && transform.ExitCodeOf(err) == transform.ExitRefused && strings.Contains(by.Holder, "one/"), err)
		close(done)
		assert.NilError(t, <-ended)
		w.finished(t, undisturbed(t))
	})
}

func TestARunThatLosesItsLockStopsBeforeTheNextWrite(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		err := w.does(t, "one", migrate.Forward, confirming(stages.InstallCCM, func() {
			w.loseLock()
			w.Forget()
		}))
		assert.Truef(t, errors.As(err, new(*migrate.Locked)) && transform.ExitCodeOf(err) == transform.ExitRefused && len(w.Writes()) == 0 && strings.Contains(w.Rancher.Object(w.Lock), "another/1/x"), "%v %v %s", err, w.Writes(), w.Rancher.Object(w.Lock))
	})
}

func TestARunThatLosesItsLockInTheMiddleOfARequestReportsIt(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		r := w.run(t, "one", logged(t))
		r.Confirm = func(ctx context.Context, stage string) (bool, error) {
			if stage != stages.InstallCCM {
				return true, nil
			}
			w.loseLock()
			<-ctx.Done()
			return false, &kube.Unreached{What: "list nodes", Err: ctx.Err()}
		}
		err := migrate.Forward(t.Context(), r)
		assert.Truef(t, transform.ExitCodeOf(err) == transform.ExitRefused && strings.Contains(fmt.Sprint(err), "another run is in progress: another/1/x"), "%d %v", transform.ExitCodeOf(err), err)
	})
}
