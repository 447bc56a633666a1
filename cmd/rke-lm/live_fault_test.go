// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// wrong takes the provider ID of a node away, and returns how it comes back.
func wrong(s *apitest.Server, node int) (right func(*apitest.Server)) {
	id := s.Nodes[node].Spec.ProviderID
	s.Nodes[node].Spec.ProviderID = ""
	return func(s *apitest.Server) { s.Nodes[node].Spec.ProviderID = id }
}

// The cluster becomes right while it cannot be seen; that is found out afterwards.
func TestVerifyRecoversFromTroubleInTheMiddle(t *testing.T) {
	t.Parallel()
	eachTrouble(t, append(troubles(), pageTroubles()...), func(t *testing.T, c trouble) {
		var right func(*apitest.Server)
		said := &notes{}
		b := duringTrouble(t, c, said.evaluated, func(s *apitest.Server) { right(s) }, 4*time.Second)
		b.Do(func() { right = wrong(b.Server, 510) })
		r := said.verify(b.config, "5m")
		b.end()
		assert.Truef(t, r.code == exitcode.Done && strings.Contains(r.stdout, "520 of 520"), "exit %d\n%s%s", r.code, r.stdout, r.stderr)
	})
}

// The cluster becomes wrong while it cannot be seen: what was right before is no
// verdict.
func TestVerifySeesWhatWentWrongDuringTrouble(t *testing.T) {
	t.Parallel()
	eachTrouble(t, append(troubles(), pageTroubles()...), func(t *testing.T, c trouble) {
		said := &notes{}
		b := duringTrouble(t, c, said.evaluated, func(s *apitest.Server) { wrong(s, 510) }, 3*time.Second)
		b.Do(func() { wrong(b.Server, 7) })
		r := said.verify(b.config, "45s")
		b.end()
		assert.Truef(t, r.code == exitcode.Found && strings.Contains(r.stdout, apitest.NodeName(510)) && strings.Contains(r.stdout, "518 of 520"), "exit %d\n%s%s", r.code, r.stdout, r.stderr)
	})
}

func TestVerifyGivesNoVerdictWhereTroubleStays(t *testing.T) {
	t.Parallel()
	eachTrouble(t, append(troubles(), pageTroubles()...), func(t *testing.T, c trouble) {
		said := &notes{}
		b := duringTrouble(t, c, said.evaluated, func(*apitest.Server) {}, 0)
		b.Do(func() { wrong(b.Server, 510) })
		r := said.verify(b.config, "25s", "-o", "json")
		b.end()
		assert.Truef(t, r.code == c.code && r.stdout == "" && strings.Contains(r.stderr, c.message), "exit %d\n%s%s", r.code, r.stdout, r.stderr)
	})
}

// An answer that comes within the time of a look counts, be it a late one: the first
// one of the trouble may.
func TestOwnersCountsTroubleAsUnknown(t *testing.T) {
	t.Parallel()
	list := append(troubles(), fails("answers that hang", "", apitest.Fault{Hang: time.Minute}, exitcode.Failed, lookAtNetwork),
		fails("answers that come late", "", apitest.Fault{Hang: 3 * time.Second}, exitcode.Done, ""),
		fails("answers that stop in the middle", "", apitest.Fault{Stall: time.Minute}, exitcode.Failed, lookAtNetwork))
	eachTrouble(t, list, func(t *testing.T, c trouble) {
		b := duringTrouble(t, c, looks(aFew), func(*apitest.Server) {}, 8*time.Second)
		o, r := owners(t, b.config, "30s")
		b.end()
		last := o.Intervals[len(o.Intervals)-1]
		assert.Truef(t, r.code == exitcode.Done && o.Intervals[0].Count == "1" && last.Count == "1" && o.Seconds["unknown"] >= 4 && o.Seconds["0"]+o.Seconds["2"] <= 0, "exit %d, %+v\n%s", r.code, o, r.stderr)
		assert.True(t, strings.Contains(r.stderr, "trying again") && strings.Contains(r.stderr, "seen again"), r.stderr)
	})
}

func TestOwnersEndsUnknownWhereTroubleStays(t *testing.T) {
	t.Parallel()
	list := append(troubles(), fails("answers that hang", "", apitest.Fault{Hang: time.Minute}, exitcode.Failed, lookAtNetwork),
		fails("answers that stop in the middle", "", apitest.Fault{Stall: time.Minute}, exitcode.Failed, lookAtNetwork))
	eachTrouble(t, list, func(t *testing.T, c trouble) {
		b := duringTrouble(t, c, looks(aFew), func(*apitest.Server) {}, 0)
		o, r := owners(t, b.config, "20s")
		b.end()
		last := o.Intervals[len(o.Intervals)-1]
		assert.Truef(t, r.code == c.code && o.Seconds["1"] >= 1 && last.Count == "unknown" && o.Seconds["unknown"] >= 5 && o.Seconds["0"]+o.Seconds["2"] <= 0, "exit %d, %+v\n%s", r.code, o, r.stderr)
		assert.Contains(t, r.stderr, c.message)
	})
}

// The manager that owns the controllers dies while no one sees it: the time until
// it is seen to be dead is no one's, and not its own.
func TestOwnersDoesNotCountTheDeadForAliveAfterTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cut := fails("", "", apitest.Fault{Reset: true}, 0, "")
		b := duringTrouble(t, cut, looks(aFew), func(s *apitest.Server) { clear(s.Renews) }, 7*time.Second)
		o, r := owners(t, b.config, "50s")
		b.end()
		// The lease lasts 15 seconds, the trouble half a second more than 7, and the last good look was at 1.5.
		last := o.Intervals[len(o.Intervals)-1]
		assert.Truef(t, r.code == exitcode.Done && last.Count == "0" && o.Seconds["1"] == 1.5 && o.Seconds["unknown"] == 22.5 && o.Seconds["0"] == 26, "exit %d, %+v\n%s", r.code, o, r.stderr)
	})
}
