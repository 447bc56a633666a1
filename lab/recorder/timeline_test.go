// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/aws"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
)

var zero = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// second is a time in a test.
func second(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }

// renewals are the changes of a lease of 3 s that one holder renews every second.
func renewals(lease, holder string, from, to float64) []Change {
	var list []Change
	for s := from; s <= to; s++ {
		list = append(list, Change{second(s), lease, holder, 3 * time.Second})
	}
	return list
}

// got are the leases that a process says it got, all at one time.
func got(s float64, leases ...string) []cluster.Acquisition {
	var list []cluster.Acquisition
	for _, l := range leases {
		list = append(list, cluster.Acquisition{Lease: l, At: second(s + 0.1)})
	}
	return list
}

const (
	mainKCM   = string(cluster.KCM)
	mainCCM   = string(cluster.CCM)
	migration = leadermigration.Lease
)

// process describes a manager of the given arguments that lives from the beginning.
func process(t *testing.T, component cluster.Component, minor string, acquired []cluster.Acquisition, args ...string) Process {
	t.Helper()
	p := assert.Value(Describe(&cluster.Manager{Spec: cluster.Spec{Component: component, Machine: "a", Minor: minor, Args: args}, Started: zero}))(t)
	p.Acquired = acquired
	return p
}

func TestOwnersFollowFromLeasesAndArguments(t *testing.T) {
	const flag, inTree, external = "--enable-leader-migration=true", "--cloud-provider=aws", "--cloud-provider=external"
	both := append(renewals(mainKCM, "k", 0, 10), renewals(mainCCM, "c", 0, 10)...)
	withMigration := func(holder string) []Change {
		return append(both[:len(both):len(both)], renewals(migration, holder, 0, 10)...)
	}
	for _, c := range []struct {
		name     string
		changes  []Change
		kcm, ccm Process
		want     string
	}{
		{"without the flag each leader owns", both,
			process(t, cluster.KCM, "", got(0, mainKCM), inTree), process(t, cluster.CCM, "v1.26", got(0, mainCCM)), "0.0 0.0 10.0"},
		{"with the flag the holder owns", withMigration("k"),
			process(t, cluster.KCM, "", got(0, mainKCM, migration), inTree, flag), process(t, cluster.CCM, "v1.26", got(0, mainCCM), flag), "0.0 10.0 0.0"},
		{"an external manager owns nothing, though it holds the lease", withMigration("k"),
			process(t, cluster.KCM, "", got(0, mainKCM, migration), external, flag), process(t, cluster.CCM, "v1.26", got(0, mainCCM), flag), "10.0 0.0 0.0"},
		{"a newer manager's default names are not those of its controllers", withMigration("k"),
			process(t, cluster.KCM, "", got(0, mainKCM, migration), inTree, flag), process(t, cluster.CCM, "v1.28", got(0, mainCCM), flag), "0.0 0.0 10.0"},
		{"without election a manager owns as long as it lives", renewals(mainCCM, "c", 0, 10),
			process(t, cluster.KCM, "", nil, inTree, flag, "--leader-elect=false"), process(t, cluster.CCM, "v1.26", got(0, mainCCM)), "0.0 0.0 10.0"},
		{"no one holds the lease", both,
			process(t, cluster.KCM, "", got(0, mainKCM), inTree, flag), process(t, cluster.CCM, "v1.26", got(0, mainCCM), flag), "10.0 0.0 0.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			timeline := assert.Value(Timeline(c.changes, []Process{c.kcm, c.ccm}, Service, zero, second(10)))(t)
			if got := total(timeline); got != c.want {
				t.Errorf("got %s, want %s\n%s", got, c.want, String(timeline))
			}
		})
	}
}

func total(timeline []Interval) string {
	none, one, two := Seconds(timeline)
	return fmt.Sprintf("%.1f %.1f %.1f", none, one, two)
}

func TestALeaseThatIsNotRenewedRunsOut(t *testing.T) {
	changes := append(renewals(mainKCM, "k", 0, 4), Change{second(9), mainKCM, "l", 3 * time.Second})
	k, l := process(t, cluster.KCM, "", got(0, mainKCM), "--cloud-provider=aws"), process(t, cluster.KCM, "", got(9, mainKCM), "--cloud-provider=aws")
	l.Name = "other"
	timeline := assert.Value(Timeline(changes, []Process{k, l}, Service, zero, second(10)))(t)
	if got := total(timeline); got != "2.0 8.0 0.0" || LongestGap(timeline) != 2*time.Second {
		t.Errorf("got %s, longest gap %s\n%s", got, LongestGap(timeline), String(timeline))
	}
}

func TestAHolderThatRenewsTooLateDidNotOwnMeanwhile(t *testing.T) {
	changes := append(renewals(mainKCM, "k", 0, 4), Change{second(9), mainKCM, "k", 3 * time.Second})
	timeline := assert.Value(Timeline(changes, []Process{process(t, cluster.KCM, "", got(0, mainKCM), "--cloud-provider=aws")}, Service, zero, second(10)))(t)
	assert.Equal(t, total(timeline), "2.0 8.0 0.0")
}

func TestAProcessThatHasEndedOwnsNothing(t *testing.T) {
	k := process(t, cluster.KCM, "", got(0, mainKCM), "--cloud-provider=aws")
	k.Ended = second(5)
	timeline := assert.Value(Timeline(renewals(mainKCM, "k", 0, 5), []Process{k}, Service, zero, second(10)))(t)
	assert.Equal(t, total(timeline), "5.0 5.0 0.0")
}

func TestAReleasedLeaseHasNoHolder(t *testing.T) {
	changes := append(renewals(mainKCM, "k", 0, 2), Change{second(3), mainKCM, "", time.Second})
	timeline := assert.Value(Timeline(changes, []Process{process(t, cluster.KCM, "", got(0, mainKCM), "--cloud-provider=aws")}, Service, zero, second(10)))(t)
	assert.Equal(t, total(timeline), "7.0 3.0 0.0")
}

func TestAnUnknownHolderIsAnError(t *testing.T) {
	_, err := Timeline(renewals(mainKCM, "k", 0, 2), []Process{process(t, cluster.KCM, "", got(12, mainKCM), "--cloud-provider=aws")}, Service, zero, second(14))
	assert.ErrorContains(t, err, mainKCM)
}

// A lease changes before its new holder has said so.
func TestAHolderThatIsNotKnownYetOwnsNothing(t *testing.T) {
	first := process(t, cluster.KCM, "", nil, "--cloud-provider=aws")
	timeline := assert.Value(Timeline([]Change{{second(0), mainKCM, "k", 3 * time.Second}}, []Process{first}, Service, second(0), second(1)))(t)
	if none, one, _ := Seconds(timeline); none != 1 || one != 0 {
		t.Error(String(timeline))
	}
}

// A manager is slow to say what it got, or its words are read late.
func TestAHolderThatLogsItLateIsKnown(t *testing.T) {
	k := process(t, cluster.KCM, "", got(7, mainKCM), "--cloud-provider=aws")
	timeline := assert.Value(Timeline(renewals(mainKCM, "k", 0, 7), []Process{k}, Service, zero, second(10)))(t)
	assert.Equal(t, total(timeline), "0.0 10.0 0.0")
}

// A manager is ended when it has just got its lease, and says nothing any more.
func TestAHolderThatEndedBeforeItLoggedItIsTheOnlyOneThatCanBe(t *testing.T) {
	mute, other := process(t, cluster.KCM, "", nil, "--cloud-provider=aws"), process(t, cluster.KCM, "", got(6, mainKCM), "--cloud-provider=aws")
	mute.Ended, other.Holder = second(2), "l"
	changes := append(renewals(mainKCM, "k", 1, 1), renewals(mainKCM, "l", 6, 10)...)
	timeline := assert.Value(Timeline(changes, []Process{mute, other}, Service, zero, second(10)))(t)
	if got := total(timeline); got != "5.0 5.0 0.0" {
		t.Error(got, String(timeline))
	}
	if _, err := Timeline(changes, []Process{mute, mute, other}, Service, zero, second(14)); err == nil {
		t.Error("one of two was guessed")
	}
}

func TestWritesShowWhichManagerWrote(t *testing.T) {
	write := func(s float64, caller string) aws.Call {
		return aws.Call{Time: second(s), Caller: caller, Action: "CreateLoadBalancer", Write: true}
	}
	writes := []aws.Call{write(1, "k@a"), write(2, "k@b"), write(6, "c@a"), write(7, "k@a")}
	assert.Equal(t, strings.Join(Writers(writes), " "), "k c k")
	timeline := []Interval{{zero, second(3), []string{"k@a"}}, {second(3), second(10), []string{"c@a"}}}
	strays := Strays(timeline, writes, 500*time.Millisecond)
	if len(strays) != 2 || strays[0].Caller != "k@b" || !strays[1].Time.Equal(second(7)) {
		t.Error(strays)
	}
}

func TestTheLastLineIsReadByPrograms(t *testing.T) {
	line := Line("some-name", []Interval{{zero, second(1), nil}, {second(1), second(3.5), []string{"a"}}, {second(3.5), second(4), []string{"a", "b"}}})
	assert.Equal(t, line, "e2e some-name ok leaders0=1.0 leaders1=2.5 leaders2=0.5")
}
