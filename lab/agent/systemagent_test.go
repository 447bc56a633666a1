// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAPlanIsTriedUntilItIsAppliedAndRestsAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := PlanSecret{"plan": []byte(`{"files":[]}`), "max-failures": []byte("2")}
		due := func(want bool) {
			t.Helper()
			if _, is, err := s.Due(); is != want || err != nil {
				t.Errorf("due: %t, %v", is, err)
			}
		}
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Error(err)
			}
		}
		due(true)
		ok(s.Failed("no space left on device"))
		due(false)
		time.Sleep(cooldown + time.Second)
		due(true)
		ok(s.Failed("no space left on device"))
		time.Sleep(cooldown + time.Second)
		due(false) // as often as it may
		s["plan"] = []byte(`{"files":null}`)
		due(true)
		ok(s.Succeeded("kubelet"))
		due(false)
		delete(s, "probe-statuses") // as Rancher does with another plan
		due(true)
		if got := s.Count("failure-count", -1); got != 0 {
			t.Errorf("%d failures of a plan that is applied", got)
		}
	})
}

func TestASecretWithoutAPlanAsksForNothing(t *testing.T) {
	if _, due, err := (PlanSecret{}).Due(); due || err != nil {
		t.Errorf("due: %t, %v", due, err)
	}
}
