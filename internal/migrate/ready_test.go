// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// ready lets a node say how it is; all else about it stays.
func (w *world) ready(node int, status corev1.ConditionStatus) {
	w.API.Do(func() {
		w.API.Nodes[node].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, Reason: "KubeletNotReady"}}
	})
}

func TestAStageDoesNotBeginWhileAControlPlaneIsNotReady(t *testing.T) {
	for name, work := range map[string]work{"migrate": migrate.Forward, "rollback": migrate.Backward} {
		t.Run(name, func(t *testing.T) {
			onRKE2(t, func(t *testing.T, w *world) {
				want := undisturbed(t)
				if name == "rollback" {
					want = w.Spec(t)
					w.migrate(t, "before")
				}
				released, waited := held(t, w, 1)
				leaves := confirming(stages.SwitchToExternal, func() { w.ready(1, corev1.ConditionFalse) })
				assert.NilError(t, w.does(t, "one", work, leaves, hearing(released)))
				assert.True(t, waited.Load(), "the run did not wait for the control plane")
				w.finished(t, want)
			})
		})
	}
}

// held lets a node be ready again once a run has said that it waits for it, and
// requires that the object was not changed meanwhile.
func held(t *testing.T, w *world, node int) (func(migrate.Event), *atomic.Bool) {
	var waited atomic.Bool
	before, reported := 0, false
	return func(e migrate.Event) {
		reported = reported || len(e.Findings) > 0 && strings.Contains(e.Findings[0].Fix, "--accept node-not-ready")
		switch {
		case e.Type == migrate.Staged:
			before = w.Patches()
		case e.Type == migrate.Awaited && strings.Contains(e.Message, "the control plane is NotReady") && waited.CompareAndSwap(false, true):
			assert.Equal(t, w.Patches(), before, "patches while it waits")
			assert.True(t, !strings.Contains(t.Name(), "rollback") || reported, "the message does not state how to roll back without the node")
			w.ready(node, corev1.ConditionTrue)
		}
	}, &waited
}

func TestAStageDoesNotEndWhileAControlPlaneIsNotReady(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		waited := false
		leaves := onPatch(stages.SwitchToExternal, func() { w.ready(2, corev1.ConditionUnknown) })
		err := w.does(t, "one", migrate.Forward, leaves, hearing(func(e migrate.Event) {
			if e.Type == migrate.Awaited && e.Stage == stages.SwitchToExternal && strings.Contains(e.Message, "is NotReady: its kubelet stopped reporting its status") {
				waited = true
				w.ready(2, corev1.ConditionTrue)
			}
		}))
		assert.Mustf(t, err == nil && waited, "waited: %t, %v", waited, err)
		w.finished(t, undisturbed(t))
	})
}

func TestAControlPlaneThatStaysNotReadyEndsTheRunInTime(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		before := 0
		err := w.does(t, "one", migrate.Forward, confirming(stages.SwitchToExternal, func() {
			w.ready(0, corev1.ConditionFalse)
			before = w.Patches()
		}))
		assert.Mustf(t, transform.ExitCodeOf(err) == transform.ExitFailed && strings.Contains(fmt.Sprint(err), "stopped at switch-to-external") && strings.Contains(fmt.Sprint(err), "the control plane is NotReady"), "%d %v", transform.ExitCodeOf(err), err)
		assert.Truef(t, w.Patches() == before && len(w.Cordoned()) == 0, "the stage was begun: %v, cordoned %v", w.Writes(), w.Cordoned())
		assert.NilError(t, w.does(t, "two", migrate.Forward, accepting("node-not-ready")))
	})
}

func TestAWorkerThatWasNeverReadyKeepsNothingBack(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		w.API.Do(func() {
			delete(w.API.Nodes[2].Labels, "node-role.kubernetes.io/control-plane")
			w.API.DaemonSets = nil
		})
		w.ready(2, corev1.ConditionFalse)
		assert.NilError(t, w.does(t, "one", migrate.Forward, until(stages.EnableLeaderMigration)))
	})
}
