// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform"
)

// wrong takes the provider ID of a node away, and returns how it comes back.
func wrong(s *apitest.Server, node int) (right func(*apitest.Server)) {
	id := s.Nodes[node].Spec.ProviderID
	s.Nodes[node].Spec.ProviderID = ""
	return func(s *apitest.Server) { s.Nodes[node].Spec.ProviderID = id }
}

// A cluster may become right or wrong while it cannot be seen: that is found out afterwards, and what was right before is no
// verdict. Nor is there one where the trouble stays.
func TestVerifySeesWhatHappensDuringTrouble(t *testing.T) {
	for name, of := range map[string]struct {
		node   int // without its ID at first
		during func(s *apitest.Server, right func(*apitest.Server))
		length time.Duration
		flags  string // of verify: how long it waits, and others
		code   int
		want   []string
	}{
		"becomes right":     {510, func(s *apitest.Server, right func(*apitest.Server)) { right(s) }, 4 * time.Second, "5m", transform.ExitDone, []string{"520 of 520"}},
		"becomes wrong":     {7, func(s *apitest.Server, _ func(*apitest.Server)) { wrong(s, 510) }, 3 * time.Second, "45s", transform.ExitFound, []string{apitest.NodeName(510), "518 of 520"}},
		"is not seen again": {510, func(*apitest.Server, func(*apitest.Server)) {}, 0, "25s -o json", 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTrouble(t, append(troubles(), pageTroubles()...), func(t *testing.T, c trouble) {
				var right func(*apitest.Server)
				printed := &notes{}
				b := duringTrouble(t, c, printed.evaluated, func(s *apitest.Server) { of.during(s, right) }, of.length)
				b.Do(func() { right = wrong(b.Server, of.node) })
				r := printed.verify(b.config, of.flags)
				b.end()
				if of.length > 0 {
					r.shows(t, c.name, of.code, of.want...)
				} else {
					assert.Equal(t, r.shows(t, c.name, c.code, c.message).stdout, "")
				}
			})
		})
	}
}

// An answer that comes within the time of an observation counts, be it a late one: the first
// one of the trouble may.
func TestOwnersCountsTroubleAsUnknown(t *testing.T) {
	t.Parallel()
	late := fails("answers that come late", "", apitest.Fault{Hang: 3 * time.Second}, transform.ExitDone, "")
	list := append(troubles(), late, fails("answers that hang", "", apitest.Fault{Hang: time.Minute}, transform.ExitFailed, observeNetwork),
		fails("answers that stop in the middle", "", apitest.Fault{Stall: time.Minute}, transform.ExitFailed, observeNetwork))
	eachTrouble(t, list, func(t *testing.T, c trouble) {
		b := duringTrouble(t, c, aFew, func(*apitest.Server) {}, 8*time.Second)
		o, r := owners(t, b.config, "30s")
		b.end()
		last := o.Intervals[len(o.Intervals)-1]
		assert.Truef(t, o.Intervals[0].Count == "1" && last.Count == "1" && o.Seconds["unknown"] >= 4 && o.Seconds["0"]+o.Seconds["2"] <= 0, "%+v\n%s", o, r.stderr)
		r.shows(t, c.name, transform.ExitDone, "trying again", "seen again")
		if c.name == late.name {
			return
		}
		b = duringTrouble(t, c, aFew, func(*apitest.Server) {}, 0) // and it stays
		o, r = owners(t, b.config, "20s")
		b.end()
		last = o.Intervals[len(o.Intervals)-1]
		assert.Truef(t, o.Seconds["1"] >= 1 && last.Count == "unknown" && o.Seconds["unknown"] >= 5 && o.Seconds["0"]+o.Seconds["2"] <= 0, "%+v\n%s", o, r.stderr)
		r.shows(t, c.name, c.code, c.message)
	})
}

// The manager that owns the controllers dies while no one sees it: the time until
// it is seen to be dead is no one's, and not its own.
func TestOwnersDoesNotCountTheDeadForAliveAfterTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cut := fails("", "", apitest.Fault{Reset: true}, 0, "")
		b := duringTrouble(t, cut, aFew, func(s *apitest.Server) { clear(s.Renews) }, 7*time.Second)
		o, r := owners(t, b.config, "50s")
		b.end()
		// The lease lasts 15 seconds, the trouble half a second more than 7, and the last good observation was at 1.5.
		last := o.Intervals[len(o.Intervals)-1]
		assert.Truef(t, r.code == transform.ExitDone && last.Count == "0" && o.Seconds["1"] == 1.5 && o.Seconds["unknown"] == 22.5 && o.Seconds["0"] == 26, "exit %d, %+v\n%s", r.code, o, r.stderr)
	})
}
