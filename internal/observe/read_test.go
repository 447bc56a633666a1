// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// Whether the holder of a long lease is dead shows at the end of the lease, and that
// has to come before the retries end.
func TestLeasesAreFollowedForAsLongAsTheyLast(t *testing.T) {
	own := observed.Manager{Component: observed.CloudManager, Args: []string{"--leader-elect-resource-name=own"}}
	for _, c := range []struct {
		name    string
		seconds int
		want    time.Duration
	}{
		{"kube-controller-manager", 15, 40 * time.Second},
		{"kube-controller-manager", 1, 40 * time.Second},
		{"cloud-provider-extraction-migration", 137, 162 * time.Second},
		{"own", 60, 85 * time.Second},
		{"cloud-controller-manager", 60, 40 * time.Second},
		{"apiserver-7xk2p9qzt4", 3600, 40 * time.Second},
		{"kube-controller-manager", 86400, 5 * time.Minute},
	} {
		o := &observed.Observation{Managers: []observed.Manager{own}, Leases: []observed.Lease{{Name: c.name, DurationSeconds: c.seconds}}}
		assert.Equal(t, settleTime(o), c.want, c.name, c.seconds)
	}
}

func TestAnOutageIsNotedWhenItBeginsAndWhenItEnds(t *testing.T) {
	var notes strings.Builder
	o := Outage{Notes: &notes}
	o.Over()
	cut := &kube.Unreached{What: "list nodes", Err: errors.New("connection refused")}
	for range 2 {
		assert.True(t, o.Retryable(cut) && o.Lost == cut, o.Lost)
	}
	o.Over()
	o.Over()
	want := "unknown from now on, trying again: list nodes: connection refused\nseen again\n"
	assert.Truef(t, notes.String() == want && o.Lost == nil, "%q, %v", notes.String(), o.Lost)
}

func TestAClusterThatRefusesFromTheBeginningIsNotTriedAgain(t *testing.T) {
	var notes strings.Builder
	for _, err := range []error{&kube.Denied{Expired: true}, errors.New("getting credentials: exec: not found")} {
		o := Outage{Notes: &notes, Denials: time.Minute}
		assert.Truef(t, !o.Retryable(err) && o.Lost == err && notes.Len() <= 0, "%v: %q", err, notes.String())
	}
}

func TestADenialOfWhatWasAllowedMayPassForSomeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notes strings.Builder
		o := Outage{Notes: &notes, Denials: time.Minute}
		o.Over()
		for _, want := range []bool{true, true, false} {
			assert.Equal(t, o.Retryable(&kube.Denied{Missing: []string{"list nodes"}}), want)
			time.Sleep(30 * time.Second)
		}
		o.Over()
		assert.True(t, o.Retryable(&kube.Denied{}), "the time begins again with each outage")
	})
}
