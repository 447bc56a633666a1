// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/controller"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func newWorld(t *testing.T, spec string, clusters ...string) *world {
	t.Helper()
	w := &world{Fleet: migratetest.NewFleet(t, clusters...), t: t, key: types.NamespacedName{Namespace: namespace, Name: name}}
	w.Rancher.Put(t, `{"apiVersion":"rke-lm.io/v1alpha1","kind":"LeaderMigration","metadata":{"name":"summer","namespace":"rke-lm","creationTimestamp":"`+time.Now().UTC().Format(time.RFC3339)+`"},"spec":`+spec+`}`)
	return w
}

// on runs a test in a world, in a bubble.
func on(t *testing.T, spec string, clusters []string, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newWorld(t, spec, clusters...)) })
}

// await waits until a condition of the LeaderMigration is true for a reason; "" for any.
func (w *world) await(kind, reason string) {
	w.t.Helper()
	for range 6 * 3600 {
		c := meta.FindStatusCondition(w.object().Status.Conditions, kind)
		if c != nil && c.Status == metav1.ConditionTrue && (reason == "" || c.Reason == reason) {
			return
		}
		time.Sleep(time.Second)
	}
	w.t.Fatalf("%s is not true for %q: %s\n%v", kind, reason, w.Rancher.Object(path), w.logs)
}

const threeWaves = `{"selector":{"matchLabels":{"fleet":"yes"}},"maxUnavailable":2,"waves":[{"name":"canary","size":1},{"name":"half","percent":50},{"name":"others"}]`

func TestClustersAreMigratedInTheWavesOfALeaderMigration(t *testing.T) {
	on(t, threeWaves+`}`, []string{"alder", "birch", "cedar", "elm"}, func(t *testing.T, w *world) {
		w.run()
		w.await(v1alpha1.Complete, "")
		assert.Equal(t, w.states(), "alder=done birch=done cedar=done elm=done")
		assert.Equal(t, w.Most, 2, "at once")
		w.Migrated(t, "alder", "birch", "cedar", "elm")
		s := w.object().Status
		assert.True(t, len(s.Waves) == 3 && s.Waves[1].Counts.Done == 2 && s.Waves[2].Ended != nil && s.Counts.Done == 4 && s.Counts.Total == 4 && s.Wave == "" && s.ObservedGeneration == w.object().Generation, s)
		for _, c := range s.Clusters {
			assert.True(t, c.NoOwnerSeconds != nil && c.TwoOwnersSeconds == 0 && c.Since != nil && c.ID != "" && c.Stage == stages.VerifyProviderIDs, c)
		}
		assert.True(t, w.events("ClusterDone") == 4 && len(w.logs) == 0, w.events("ClusterDone"), w.logs)
	})
}

func TestWavesWaitForTheirApprovals(t *testing.T) {
	on(t, threeWaves+`,"approval":"wave"}`, []string{"alder", "birch", "cedar", "elm"}, func(t *testing.T, w *world) {
		w.approvals = []v1alpha1.LeaderMigrationApproval{{Spec: v1alpha1.LeaderMigrationApprovalSpec{Migration: name, Wave: "canary"}}} // older than the migration
		w.run()
		for _, wave := range []string{"canary", "half", "others"} {
			w.await(v1alpha1.Waiting, string(transition.ApprovalRequired))
			assert.Contains(t, w.message(v1alpha1.Waiting), wave)
			time.Sleep(time.Hour)
			w.approve(wave, "")
			time.Sleep(time.Hour)
		}
		w.await(v1alpha1.Complete, "")
		w.Migrated(t, "alder", "birch", "cedar", "elm")
	})
}

func TestAStageWaitsForItsApprovalInEveryCluster(t *testing.T) {
	on(t, `{"selector":{},"maxUnavailable":2,"approval":"stage"}`, []string{"alder", "birch"}, func(t *testing.T, w *world) {
		w.run()
		w.await(v1alpha1.Waiting, string(transition.ApprovalRequired))
		w.unchanged("before an approval")
		w.approve("rest", stages.GrantMigrationLease)
		for _, stage := range []string{stages.EnableLeaderMigration, stages.InstallCCM} {
			time.Sleep(time.Hour)
			assert.Equal(t, w.states(), "alder=held birch=held")
			assert.Equal(t, w.object().Status.Clusters[0].Stage, stage)
			w.approve("rest", stage)
		}
		for _, stage := range stages.Names() {
			w.approve("rest", stage)
		}
		w.await(v1alpha1.Complete, "")
		w.Migrated(t, "alder", "birch")
	})
}

// A LeaderMigration of an earlier release has chosen external without it, and nothing in it can be changed.
func TestAnApprovalAcceptsARuleForTheClustersOfItsWave(t *testing.T) {
	on(t, `{"selector":{},"maxFailures":2,"options":{"end-state":"external"},"waves":[{"name":"one","size":1}]}`, []string{"alder", "birch"}, func(t *testing.T, w *world) {
		retry := func(wish, want string) {
			t.Helper()
			w.retry(wish)
			time.Sleep(time.Hour)
			assert.Equal(t, w.states(), want, w.object().Status.Clusters)
		}
		w.approvals = []v1alpha1.LeaderMigrationApproval{{Spec: v1alpha1.LeaderMigrationApprovalSpec{Migration: name, Wave: "one", Accept: []string{"node-rename"}}}} // older than the migration
		w.run()
		time.Sleep(time.Hour)
		for _, c := range w.object().Status.Clusters {
			assert.True(t, c.State == string(transition.Failed) && strings.Contains(c.Message, "switch-to-external is blocked") && strings.Contains(c.Message, "node-rename"), c)
		}
		w.unchanged()
		retry("1", "alder=failed birch=failed")
		w.approve("one", "", "node-rename")
		retry("2", "alder=done birch=failed")
		w.Migrated(t, "alder")
		w.edit(func(spec map[string]any) { spec["options"].(map[string]any)["accept"] = []any{"node-rename"} })
		w.await(v1alpha1.Waiting, "InvalidSpec")
		retry("3", "alder=done birch=failed")
	})
}

func TestAPauseStopsBeforeTheNextStage(t *testing.T) {
	on(t, `{"selector":{}}`, []string{"alder"}, func(t *testing.T, w *world) {
		pause := sync.OnceFunc(func() { w.edit(func(spec map[string]any) { spec["pause"] = true }) })
		w.onWrite(stages.EnableLeaderMigration, pause)
		w.run()
		w.await(v1alpha1.Waiting, string(transition.Paused))
		c := w.object().Status.Clusters[0]
		assert.True(t, c.State == string(transition.Gated) && c.Stage == stages.InstallCCM && w.Rancher.Object(w.Worlds["alder"].Lock) == "", c)
		w.edit(func(spec map[string]any) { spec["pause"] = false })
		w.await(v1alpha1.Complete, "")
		w.Migrated(t, "alder")
	})
}

func TestNothingStartsOutsideOfTheWindow(t *testing.T) {
	on(t, `{"selector":{},"window":{"days":["Sat"],"from":"10:00","to":"12:00","timeZone":"Europe/Berlin"}}`, []string{"alder"}, func(t *testing.T, w *world) { // the clock of a bubble begins at midnight of a Saturday, in UTC
		began := time.Time{}
		w.onShow = func(m migrate.Member, _ migrate.Event) {
			if began.IsZero() {
				began = time.Now()
			}
		}
		w.run()
		w.await(v1alpha1.Waiting, string(transition.WindowClosed))
		time.Sleep(10 * time.Hour)
		w.await(v1alpha1.Complete, "")
		assert.Equal(t, began.UTC().Format(time.TimeOnly), "09:00:00", began)
	})
}

func TestFailuresStopTheWavesAndAreRolledBackIfAskedTo(t *testing.T) {
	on(t, `{"selector":{},"maxUnavailable":2,"rollbackOnFailure":true,"waves":[{"name":"first","size":2}]}`, []string{"alder", "birch", "cedar"}, func(t *testing.T, w *world) {
		before := w.Worlds["alder"].Spec(t)
		w.onShow = func(m migrate.Member, e migrate.Event) {
			if m.Cluster == "fleet-default/alder" {
				w.Worlds["alder"].Stick(m.State == transition.Running && m.Stage == stages.InstallCCM)
			}
		}
		w.run()
		w.await(v1alpha1.Failed, "TooManyFailures")
		w.await(v1alpha1.Waiting, "TooManyFailures")
		assert.Must(t, w.states() == "alder=failed birch=done cedar=waiting" && w.object().Status.Clusters[0].RolledBack, w.Rancher.Object(path))
		assert.Equal(t, w.Worlds["alder"].Spec(t), before)
		assert.Equal(t, w.Worlds["cedar"].Patches(), 0)
		w.Migrated(t, "birch")
		w.edit(func(spec map[string]any) { spec["maxFailures"] = 1 })
		w.await(v1alpha1.Complete, "")
		w.Migrated(t, "cedar")
	})
}

// restarted ends the process and starts another one, at moments that follow from a seed, until the
// LeaderMigration is complete. It returns how often one started.
func (w *world) restarted(seed uint64) (starts int) {
	random := rand.New(rand.NewPCG(seed, seed))
	for !w.isTrue(v1alpha1.Complete) {
		w.run()
		starts++
		time.Sleep(time.Duration(500+random.IntN(3000)) * time.Millisecond)
		w.end()
	}
	return starts
}

func TestAnotherProcessContinuesFromTheStatus(t *testing.T) {
	const seed = 11
	on(t, threeWaves+`}`, []string{"alder", "birch", "cedar", "elm"}, func(t *testing.T, w *world) {
		starts := w.restarted(seed)
		assert.Truef(t, starts >= 5 && w.states() == "alder=done birch=done cedar=done elm=done", "%d starts with the seed %d: %s", starts, seed, w.states())
		w.Migrated(t, "alder", "birch", "cedar", "elm")
		for _, c := range w.object().Status.Clusters {
			assert.Equal(t, c.TwoOwnersSeconds, 0, c)
		}
	})
}

func TestAProcessThatLosesTheLeaseAndLeadsAgainContinues(t *testing.T) {
	on(t, `{"selector":{}}`, []string{"alder", "birch"}, func(t *testing.T, w *world) {
		w.run()
		time.Sleep(3 * time.Second)
		w.end()
		assert.Equal(t, w.states(), "alder=running birch=waiting")
		w.lead()
		w.await(v1alpha1.Complete, "")
		w.Migrated(t, "alder", "birch")
	})
}

// An API server that has just started knows no permissions yet.
func TestMissingPermissionsFailAClusterOnlyIfTheyStayMissing(t *testing.T) {
	for missing, want := range map[time.Duration]string{40 * time.Second: "alder=done", time.Hour: "alder=failed"} {
		t.Run(want, func(t *testing.T) {
			on(t, `{"selector":{}}`, []string{"alder"}, func(t *testing.T, w *world) {
				w.deny(true)
				w.run()
				time.Sleep(20 * time.Second)
				c := w.object().Status.Clusters[0]
				assert.True(t, c.State == string(transition.Running) && strings.Contains(c.Message, "missing permissions: patch clusters"), c)
				time.Sleep(missing - 20*time.Second)
				w.deny(false)
				for w.object().Status.Counts.Running > 0 {
					time.Sleep(time.Second)
				}
				assert.Equal(t, w.states(), want, w.object().Status.Clusters[0].Message)
			})
		})
	}
}

func TestAClusterOfAnotherProgramIsExplainedAndNotChanged(t *testing.T) {
	on(t, `{"selector":{}}`, []string{"alder", "birch"}, func(t *testing.T, w *world) {
		w.managed("alder", true)
		w.run()
		w.await(v1alpha1.Complete, "")
		w.await(v1alpha1.ManagedElsewhere, v1alpha1.ManagedElsewhere)
		assert.Equal(t, w.states(), "alder=skipped birch=done")
		assert.Equal(t, w.Worlds["alder"].Patches(), 0)
		first := w.change()
		assert.True(t, first["stage"] == stages.GrantMigrationLease && strings.Contains(first["diff"], "+") && first["command"] == "rke-lm apply --stage=grant-migration-lease FILE" && strings.Contains(first["reason"], "Argo CD"), first)
		w.Rancher.Edit(w.Worlds["alder"].Path, func(o map[string]any) {
			o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["additionalManifest"] = "kind: Broken: [\n"
		})
		before := w.Rancher.Count("/configmaps/")
		w.manager.ClusterChanged(types.NamespacedName{Namespace: "fleet-default", Name: "birch"}) // which no other program manages
		time.Sleep(time.Minute)
		assert.Equal(t, w.Rancher.Count("/configmaps/"), before, "requests for the change of another cluster")
		w.manager.ClusterChanged(types.NamespacedName{Namespace: "fleet-default", Name: "alder"}) // it cannot be planned now, and what was written stays
		time.Sleep(time.Minute)
		now := w.change()
		assert.Truef(t, now["stage"] == first["stage"] && len(w.logs) != 0, "%v %v", now, w.logs)
	})
}

// change is the ConfigMap with the next change of the cluster alder.
func (w *world) change() map[string]string {
	w.t.Helper()
	var c corev1.ConfigMap
	assert.NilError(w.t, json.Unmarshal([]byte(w.Rancher.Object("/api/v1/namespaces/rke-lm/configmaps/summer.fleet-default.alder")), &c))
	assert.True(w.t, len(c.OwnerReferences) == 1 && c.OwnerReferences[0].UID == w.object().UID, c.OwnerReferences)
	return c.Data
}

func TestALeaderMigrationThatIsNotValidHasTheReasonInItsStatus(t *testing.T) {
	for _, spec := range []string{
		`{"selector":{},"window":{"from":"10:00","to":"12:00","timeZone":"Mars/Base"}}`, `{"selector":{},"window":{"days":["Someday"],"from":"10:00","to":"12:00"}}`, `{"selector":{},"options":{"wrong":true}}`,
	} {
		on(t, spec, []string{"alder"}, func(t *testing.T, w *world) {
			w.run()
			w.await(v1alpha1.Failed, "InvalidSpec")
			w.unchanged()
			w.edit(func(spec map[string]any) {
				delete(spec, "window")
				delete(spec, "options")
			})
			w.await(v1alpha1.Complete, "")
			assert.True(t, !w.isTrue(v1alpha1.Failed), "it is still not valid")
		})
	}
	assert.True(t, controller.CheckAccept([]string{rollout.ManagedElsewhere}) != nil, "a cluster that another program manages could be changed")
}

func TestClustersThatGetTheLabelLaterAreFound(t *testing.T) {
	on(t, `{"selector":{"matchLabels":{"env":"staging"}}}`, []string{"alder", "birch"}, func(t *testing.T, w *world) {
		w.run()
		w.await(v1alpha1.Waiting, "NoClusters")
		w.Rancher.Edit(w.Worlds["birch"].Path, func(o map[string]any) {
			o["metadata"].(map[string]any)["labels"] = map[string]any{"env": "staging"}
		})
		w.manager.ClusterChanged(types.NamespacedName{Namespace: "fleet-default", Name: "birch"})
		w.await(v1alpha1.Complete, "")
		assert.Equal(t, w.states(), "birch=done")
	})
}

// However often clusters change of which none is selected, all of them are listed twice a minute at most.
func TestChangesOfClustersThatAreNotSelectedAreBounded(t *testing.T) {
	on(t, `{"selector":{"matchLabels":{"env":"staging"}}}`, []string{"alder", "birch"}, func(t *testing.T, w *world) {
		w.run()
		w.await(v1alpha1.Waiting, "NoClusters")
		const list = "/provisioning.cattle.io/v1/clusters"
		before := w.Rancher.Count(list)
		for range 6000 { // ten minutes
			w.manager.ClusterChanged(types.NamespacedName{Namespace: "fleet-default", Name: "alder"})
			time.Sleep(100 * time.Millisecond)
		}
		lists := w.Rancher.Count(list) - before
		assert.Truef(t, lists >= 19 && lists <= 21, "%d lists in ten minutes", lists)
		quiet := w.Rancher.Count(list)
		time.Sleep(time.Hour)
		assert.True(t, w.Rancher.Count(list)-quiet <= 1, "lists in an hour without changes", w.Rancher.Count(list)-quiet)
	})
}

func TestARunEndsWithItsLeaderMigration(t *testing.T) {
	on(t, `{"selector":{}}`, []string{"alder"}, func(t *testing.T, w *world) {
		deleted := make(chan struct{})
		w.onWrite(stages.EnableLeaderMigration, func() { close(deleted) })
		w.run()
		<-deleted
		w.Rancher.Remove(path)
		w.manager.Changed(t.Context(), w.key, nil)
		w.manager.Wait()
		s := w.Worlds["alder"].Spec(t)
		assert.True(t, !strings.Contains(s, `"external"`) && len(w.Worlds["alder"].Cordoned()) == 0 && w.Rancher.Object(w.Worlds["alder"].Lock) == "", s)
	})
}

func TestAClusterWhoseManagerIsRemovedAfterTheSwitchIsNotMigratedFurther(t *testing.T) {
	on(t, `{"selector":{},"until":"switch-to-external"}`, []string{"alder"}, func(t *testing.T, w *world) {
		w.run()
		w.await(v1alpha1.Complete, "")
		w.end()
		one := w.Worlds["alder"]
		one.API.Do(func() {
			one.API.DaemonSets = nil
			one.API.Pods = slices.DeleteFunc(one.API.Pods, func(p corev1.Pod) bool { return strings.Contains(p.Name, "cloud-controller-manager") })
			clear(one.API.Renews)
		})
		one.Forget()
		w.Rancher.Edit(path, func(o map[string]any) { // as after a delete and a create
			delete(o, "status")
			delete(o["spec"].(map[string]any), "until")
		})
		w.lead()
		w.await(v1alpha1.Failed, "")
		c := w.object().Status.Clusters[0]
		assert.Truef(t, c.State == "failed" && slices.Contains(c.Findings, "ccm-removed") && one.Patches() == 0, "%+v, %d patches of the cluster", c, one.Patches())
	})
}
