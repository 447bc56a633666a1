// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

func pod(component, name string, args ...string) observed.Manager {
	return observed.Manager{Component: component, Pod: name, Hosts: []string{name}, Args: args, Running: true, Image: "c:v1.26.6"}
}

func TestOneObservationShowsWhoOwns(t *testing.T) {
	external := pod(observed.KubeManager, "k", "--cloud-provider=external")
	cloud := pod(observed.CloudManager, "c1", "--configure-cloud-routes=false")
	other := pod(observed.CloudManager, "c2", "--configure-cloud-routes=false", "--leader-elect-resource-name=own")
	main := record(observed.CloudManager, "c1_1", true, 0)
	for _, c := range []struct {
		name     string
		managers []observed.Manager
		leases   []observed.Lease
		count    int
		unknown  bool
	}{
		{"one manager", []observed.Manager{external, cloud}, []observed.Lease{main}, 1, false},
		{"two workloads that elect a leader each", []observed.Manager{external, cloud, other}, []observed.Lease{main, record("own", "c2_1", true, 0)}, 2, false},
		{"two workloads, of which one has no leader alive", []observed.Manager{external, cloud, other}, []observed.Lease{main, {Name: "own", Holder: "c2_1", DurationSeconds: 15, SilentSeconds: 90}}, 1, false},
		{"a lease of its own name", []observed.Manager{external, other}, []observed.Lease{record("own", "c2_1", true, 0)}, 1, false},
		{"a leader below a shell", []observed.Manager{pod(observed.KubeManager, "k", "/bin/sh", "-c", "exec kcm"), cloud}, []observed.Lease{main}, 0, true},
		{"a lease that cannot be seen", []observed.Manager{pod(observed.KubeManager, "k", "--cloud-provider=aws", "--leader-elect-resource-namespace=other"), cloud}, []observed.Lease{main}, 0, true},
		{"nothing at all", nil, nil, 0, false},
	} {
		s := ownersOf(Processes(c.managers), leasesOf(c.leases))
		assert.Truef(t, s.Count == c.count && (s.Unknown != "") == c.unknown, "%s: %+v", c.name, s)
	}
}

func TestAHolderIsKnownByAnyOfTheMainLeases(t *testing.T) {
	managers := Processes([]observed.Manager{
		pod(observed.CloudManager, "c1", "--enable-leader-migration"), pod(observed.CloudManager, "c2", "--enable-leader-migration", "--leader-elect-resource-name=own"),
	})
	leases := leasesOf([]observed.Lease{record(observed.CloudManager, "c1_1", true, 0), record("own", "c2_1", true, 0), record(leadermigration.Lease, "c2_1", true, 0)})
	owner := leaseOf(managers, leases).Owner
	assert.Truef(t, owner == observed.CloudManager, "the holder is of %q", owner)
}
