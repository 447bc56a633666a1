// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
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
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// many is a Rancher with several clusters, and what happens in a migration of them.
type many struct {
	*migratetest.Fleet
	t     *testing.T
	log   string   // the audit log
	order []string // in which they started
}

func newMany(t *testing.T, names ...string) *many {
	t.Helper()
	return &many{Fleet: migratetest.NewFleet(t, names...), t: t, log: filepath.Join(t.TempDir(), "audit.jsonl")}
}

// open makes the run over a cluster as the command line does.
func (m *many) open(cluster string) (migrate.Options, error) {
	server, err := rancher.Open(rancher.Source{Connection: kube.Connection{Rancher: m.URL, TokenFile: m.Rancher.TokenFile(m.t), Insecure: true, UserAgent: "fleet", RetryFor: retryTime, Dial: memnet.Dial}})
	if err != nil {
		return migrate.Options{}, err
	}
	objects, err := server.Find(m.t.Context(), rancher.Query{Name: cluster})
	if err != nil {
		return migrate.Options{}, err
	}
	w := m.world(cluster)
	return migrate.Options{
		Server: server, Object: objects[0], Planner: transition.Planner{Format: w.Format, Target: transform.Target{EndState: transform.EndStateExternal, Accept: []string{"node-rename"}}},
		Timeout: 10 * time.Minute, Interval: 2 * time.Second, User: migrate.User{Name: "tester", Host: "fleet"}, AuditLog: m.log, Continue: "again", Revert: "back",
	}, nil
}

func (m *many) world(cluster string) *migratetest.World {
	return m.Worlds[strings.TrimPrefix(cluster, "fleet-default/")]
}

// fleet is a migration of all of them, which is recorded.
func (m *many) fleet(canaries []string, size int, l transition.Limits) *migrate.Fleet {
	var names []string
	for name := range m.Worlds {
		names = append(names, "fleet-default/"+name)
	}
	slices.Sort(names)
	return &migrate.Fleet{Waves: transition.Split(names, canaries, size), Limits: l, Open: m.open, OnChange: m.record}
}

func (m *many) record(one migrate.Member, _ migrate.Event) {
	name := strings.TrimPrefix(one.Cluster, "fleet-default/")
	if one.State == transition.Running && !slices.Contains(m.order, name) {
		m.order = append(m.order, name)
	}
	m.Runs(name, one.State == transition.Running)
}

// states are those of the clusters, as name=state.
func states(s migrate.Summary) string {
	return strings.Join(lists.Map(s.Members, func(m migrate.Member) string {
		return strings.TrimPrefix(m.Cluster, "fleet-default/") + "=" + string(m.State)
	}), " ")
}

// untouched expects clusters without a write.
func (m *many) untouched(names ...string) {
	m.t.Helper()
	for _, name := range names {
		w := m.Worlds[name]
		assert.Truef(m.t, w.Patches() == 0, "%s was written: %v", name, w.Writes())
	}
}

func TestManyClustersAreMigratedInWaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMany(t, "alder", "birch", "cedar", "elm", "fir")
		s := m.fleet([]string{"fleet-default/cedar"}, 2, transition.Limits{Unavailable: 2}).Run(t.Context())
		assert.Mustf(t, states(s) == "cedar=done alder=done birch=done elm=done fir=done" && s.ExitCode() == transform.ExitDone && !s.Stopped && s.Err == nil, "%s %+v", states(s), s)
		m.Migrated(t, "alder", "birch", "cedar", "elm", "fir")
		assert.Truef(t, m.Most == 2 && m.order[0] == "cedar", "%d at once, in the order %v", m.Most, m.order)
		audited(t, m.log)
		for _, one := range s.Members {
			assert.Truef(t, one.Stage == stages.VerifyProviderIDs && one.Switch != nil && one.Watched != (migrate.Owned{}) && one.Watched.Two <= 0 && !one.Since.IsZero(), "%+v %v", one, one.Switch)
		}
	})
}

func TestARunSaysForHowLongTheCloudControllersHadNoOwner(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		w.Gap = 17 * time.Second
		seen := map[string]migrate.Owned{}
		assert.NilError(t, w.does(t, "one", migrate.Forward, hearing(func(e migrate.Event) {
			if e.Type == migrate.Watched {
				seen[e.Stage] = *e.Owners
			}
		})))
		// A leader counts until its lease of 15 seconds has expired.
		last := seen[stages.DisableLeaderMigration]
		assert.True(t, last.None > 0 && last.None <= 3 && last.Two <= 0 && last.None+last.One+last.Unknown >= 15, last)
		for _, stage := range []string{stages.GrantMigrationLease, stages.EnableLeaderMigration, stages.InstallCCM, stages.SwitchToExternal, stages.DisableLeaderMigration} {
			_, watched := seen[stage]
			assert.Truef(t, watched, "%s was not watched: %v", stage, seen)
		}
	})
}

// stuckAt keeps the machines of a cluster from following the edit of a stage.
func (m *many) stuckAt(name, stage string) func(migrate.Member, migrate.Event) {
	return func(one migrate.Member, e migrate.Event) {
		m.record(one, e)
		if e.Type == migrate.Staged && e.Stage == stage && one.Cluster == "fleet-default/"+name {
			m.Worlds[name].Stick(true)
		}
	}
}

func TestAFailureStopsTheWaveAndTheOthersFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMany(t, "alder", "birch", "cedar", "elm")
		f := m.fleet(nil, 3, transition.Limits{Unavailable: 2})
		f.OnChange = m.stuckAt("alder", stages.EnableLeaderMigration)
		s := f.Run(t.Context())
		assert.Mustf(t, states(s) == "alder=failed birch=done cedar=done elm=waiting" && s.Stopped && s.ExitCode() == transform.ExitFailed, "%s %+v", states(s), s)
		failed := s.Members[0]
		assert.True(t, failed.Stage == stages.EnableLeaderMigration && failed.Outcome != nil && failed.Outcome.Continue == "again" && strings.Contains(failed.Err.Error(), "not complete within"), failed)
		m.Migrated(t, "birch")
		m.untouched("elm")

		m.Worlds["alder"].Stick(false)
		m.Worlds["alder"].Follow()
		again := m.fleet(nil, 3, transition.Limits{Unavailable: 2}).Run(t.Context())
		assert.Equal(t, states(again), "alder=done birch=done cedar=done elm=done")
		m.Migrated(t, "alder", "birch", "cedar", "elm")
	})
}

func TestFailuresAreToleratedUpToTheirNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMany(t, "alder", "birch", "cedar")
		f := m.fleet(nil, 1, transition.Limits{Unavailable: 3, Failures: 1})
		f.Refused = map[string]error{"fleet-default/birch": transform.NewError(transform.ExitRefused, "it is refused")}
		s := f.Run(t.Context())
		assert.Truef(t, states(s) == "alder=done birch=failed cedar=done" && !s.Stopped && s.ExitCode() == transform.ExitRefused && m.Most == 1, "%s %+v", states(s), s)
	})
}

func TestNothingStartsIfTooManyClustersAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMany(t, "alder", "birch")
		f := m.fleet(nil, 0, transition.Limits{Unavailable: 3})
		f.Refused = map[string]error{"fleet-default/birch": transform.NewError(transform.ExitRefused, "it is refused")}
		s := f.Run(t.Context())
		assert.Truef(t, states(s) == "alder=waiting birch=failed" && s.Stopped && len(m.order) == 0, "%s %v", states(s), m.order)
		m.untouched("alder", "birch")
	})
}

func TestACanaryThatFailsStopsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMany(t, "alder", "birch")
		f := m.fleet([]string{"fleet-default/birch"}, 1, transition.Limits{Unavailable: 3, Failures: 5})
		f.OnChange = m.stuckAt("birch", stages.SwitchToExternal)
		s := f.Run(t.Context())
		assert.True(t, states(s) == "birch=failed alder=waiting" && s.Stopped, states(s))
		m.untouched("alder")
	})
}

func TestEachWaveIsConfirmedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMany(t, "alder", "birch", "cedar")
		f := m.fleet(nil, 2, transition.Limits{Unavailable: 1})
		var asked []string
		f.Agree = func(_ context.Context, w transition.Wave) (bool, error) {
			asked = append(asked, w.Name)
			return w.Name == "wave-1", nil
		}
		s := f.Run(t.Context())
		assert.Truef(t, states(s) == "alder=done birch=done cedar=waiting" && s.Err != nil && s.ExitCode() == transform.ExitFailed, "%s %v", states(s), s.Err)
		assert.EqualSlices(t, asked, []string{"wave-1", "wave-2"})
		m.untouched("cedar")
	})
}

func TestAnInterruptEndsTheRunsAndTheNextCommandContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMany(t, "alder", "birch", "cedar")
		f := m.fleet(nil, 0, transition.Limits{Unavailable: 2})
		ctx, interrupt := context.WithCancel(t.Context())
		f.OnChange = func(one migrate.Member, e migrate.Event) {
			m.record(one, e)
			if e.Type == migrate.Written && e.Stage == stages.InstallCCM {
				interrupt()
			}
		}
		s := f.Run(ctx)
		assert.Mustf(t, states(s) == "alder=failed birch=failed cedar=waiting" && s.ExitCode() == transform.ExitFailed, "%s %+v", states(s), s)
		for _, one := range s.Members[:2] {
			end := (*migrate.End)(nil)
			assert.True(t, errors.As(one.Err, &end) && strings.Contains(one.Err.Error(), "interrupted"), one.Err)
		}
		m.untouched("cedar")
		again := m.fleet(nil, 0, transition.Limits{Unavailable: 2}).Run(t.Context())
		assert.Equal(t, states(again), "alder=done birch=done cedar=done")
		m.Migrated(t, "alder", "birch", "cedar")
		audited(t, m.log)
	})
}
