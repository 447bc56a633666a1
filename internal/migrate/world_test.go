// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/transition"
)

// TestMain gives the token to all runs, and helm is to be run without it: one of a file would be read with each request.
func TestMain(m *testing.M) {
	os.Setenv(rancher.TokenVariable, ranchertest.Token)
	os.Exit(m.Run())
}

// world is a Rancher with one cluster, and the runs over it.
type world struct {
	*migratetest.World
	asked  []transition.KubeletRestart // of its machines
	before string                      // the object's specification before a migration
}

func rke2World(t *testing.T) *world { return &world{World: migratetest.NewRKE2(t)} }

func rke1World(t *testing.T) *world { return &world{World: migratetest.NewRKE1(t)} }

// retryTime is for how long a request is made again.
const retryTime = 30 * time.Second

// run is a run over the cluster, as the command line makes it.
func (w *world) run(t *testing.T, agent string, onEvent func(migrate.Event)) migrate.Options {
	t.Helper()
	server := assert.Value(rancher.Open(rancher.Source{Connection: kube.Connection{Rancher: w.URL, Insecure: true, UserAgent: agent, RetryFor: retryTime, Dial: memnet.Dial}}))(t)
	objects := assert.Value(server.Find(t.Context(), rancher.Query{Name: w.Name}))(t)
	return migrate.Options{
		Server: server, Object: objects[0], Planner: transition.Planner{Format: w.Format, Target: transform.Target{EndState: transform.EndStateExternal, Accept: []string{"node-rename"}}},
		Timeout: 10 * time.Minute, Interval: 10 * time.Second, User: migrate.User{Name: "tester", Host: agent}, OnEvent: onEvent, Continue: "again", Revert: "back",
	}
}

// choices change what a run does.
type choices = func(*world, *migrate.Options)

func usual(*world, *migrate.Options) {}

func canonical(_ *world, o *migrate.Options) { o.Planner.Target.CanonicalForm = true }

func alone(_ *world, o *migrate.Options) { o.Planner.Target.NoLeaderMigration = true }

func restarting(w *world, o *migrate.Options) {
	o.Planner.Target, o.Restart = transform.Target{}, w.restart
}

func shorter(_ *world, o *migrate.Options) { o.Planner.Target.ShortLeases = true }

func until(stage string) choices { return func(_ *world, o *migrate.Options) { o.Until = stage } }

func downTo(stage string) choices { return func(_ *world, o *migrate.Options) { o.Planner.To = stage } }

func accepting(rules ...string) choices {
	return func(_ *world, o *migrate.Options) {
		o.Planner.Target.Accept = append(o.Planner.Target.Accept, rules...)
	}
}

func snapshotting(_ *world, o *migrate.Options) { o.EtcdSnapshot = true }

func proving(_ *world, o *migrate.Options) { o.CanaryService = true }

func auditing(file string) choices {
	return func(_ *world, o *migrate.Options) { o.AuditLog = file }
}

func targeting(target transform.Target) choices {
	return func(_ *world, o *migrate.Options) { o.Planner.Target = target }
}

// hearing tells a test of the events, as the log of it.
func hearing(hear func(migrate.Event)) choices {
	return func(_ *world, o *migrate.Options) {
		log := o.OnEvent
		o.OnEvent = func(e migrate.Event) { log(e); hear(e) }
	}
}

// onPatch does something whenever a stage was written to the cluster's object; "" for any stage.
func onPatch(stage string, do func()) choices {
	return hearing(func(e migrate.Event) {
		if e.Type == migrate.Written && strings.HasPrefix(e.Message, "patch") && (stage == "" || e.Stage == stage) {
			do()
		}
	})
}

// confirming does something when a stage is to be confirmed, and confirms all of them.
func confirming(stage string, do func()) choices {
	return func(_ *world, o *migrate.Options) {
		o.Confirm = func(_ context.Context, next string) (bool, error) {
			if next == stage {
				do()
			}
			return true, nil
		}
	}
}

// machineConfig is the configuration of all machines in an object.
func machineConfig(o map[string]any) map[string]any {
	return o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["machineGlobalConfig"].(map[string]any)
}

// does runs to its end, with some choices.
func (w *world) does(t *testing.T, agent string, work work, with ...choices) error {
	t.Helper()
	r := w.run(t, agent, logged(t))
	for _, with := range with {
		with(w, &r)
	}
	return work(t.Context(), r)
}

// migrate is a migration that must succeed.
func (w *world) migrate(t *testing.T, agent string) {
	t.Helper()
	assert.NilError(t, w.does(t, agent, migrate.Forward))
}

// release brings the object of the cluster to a release of Kubernetes, as another user does.
func (w *world) release(version string) {
	w.Rancher.Edit(w.Path, func(o map[string]any) {
		spec := o["spec"].(map[string]any)
		if config, is := spec["rancherKubernetesEngineConfig"].(map[string]any); is {
			spec = config
		}
		spec["kubernetesVersion"] = version
	})
}

// on runs a test in a world, in a bubble. onRKE2 has a cluster of RKE2, and onRKE1 one of RKE1.
func on(t *testing.T, made func(*testing.T) *world, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, made(t)) })
}

func onRKE2(t *testing.T, test func(t *testing.T, w *world)) { on(t, rke2World, test) }

func onRKE1(t *testing.T, test func(t *testing.T, w *world)) { on(t, rke1World, test) }
