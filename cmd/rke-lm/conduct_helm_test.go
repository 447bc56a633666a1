// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

const engineLease = "/apis/coordination.k8s.io/v1/namespaces/c-x7k2p/leases/rke-lm-c-x7k2p"

// unfinished puts the record of a helm that is at work, or was killed.
func (w *world) unfinished(revision, status string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects[recordPath+revision] = status
}

func (w *world) left(revision string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, left := w.objects[recordPath+revision]
	return left
}

// killedWithHelm leaves the lock of a run that died while its helm was at work.
func (w *world) killedWithHelm(t *testing.T, record string) {
	w.rancher.Put(t, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"rke-lm-c-x7k2p","namespace":"c-x7k2p","uid":"u-lease",
 "annotations":{"rke-lm.io/helm":"kube-system/sh.helm.release.v1.aws-cloud-controller-manager.`+record+`"}},
 "spec":{"holderIdentity":"dead/1/x","leaseDurationSeconds":15}}`)
}

// toChart migrates up to the chart.
func (w *world) toChart(t *testing.T, agent string) error {
	r := w.run(t, agent, said(t))
	r.Until = transform.InstallCCM
	return r.Migrate(t.Context())
}

func (w *world) helmRan() bool {
	_, err := os.Stat(w.helm)
	return err == nil
}

func TestTheRecordOfAHelmThatDiedWithItsRunIsTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := engineWorld(t)
		w.unfinished("v1", "pending-install")
		w.killedWithHelm(t, "v1")
		if err := w.toChart(t, "one"); err != nil {
			t.Fatal(err)
		}
		if w.left("v1") || !w.helmRan() {
			t.Errorf("left: %t, helm ran: %t", w.left("v1"), w.helmRan())
		}
		if w.rancher.Object(engineLease) != "" {
			t.Error("the lock was not released")
		}
	})
}

func TestTheRecordOfSomebodyElsesHelmStopsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, status := range []string{"pending-install", "pending-upgrade", "pending-rollback", "uninstalling"} {
			for name, lock := range map[string]func(*world){
				"nobody ran":     func(*world) {},
				"a run died":     func(w *world) { w.killedWithHelm(t, "v1") },
				"without a helm": func(w *world) { w.killedWithHelm(t, "") },
			} {
				w := engineWorld(t)
				w.unfinished("v2", status)
				lock(w)
				err := w.toChart(t, "one")
				if exitcode.Of(err) != exitcode.Refused || !w.left("v2") || w.helmRan() {
					t.Errorf("%s, %s: exit code %d, left: %t, helm ran: %t, %v", status, name, exitcode.Of(err), w.left("v2"), w.helmRan(), err)
				}
				for _, want := range []string{"kube-system/aws-cloud-controller-manager is " + status + " since 2025-03-11 09:58:07 UTC", "helm -n kube-system history aws-cloud-controller-manager", "stopped at install-ccm", "to go on"} {
					if !strings.Contains(fmt.Sprint(err), want) {
						t.Errorf("%v\nlacks %s", err, want)
					}
				}
			}
		}
	})
}

func TestAReleaseThatSomebodyElseChangesIsNotTakenOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := engineWorld(t)
		if err := w.toChart(t, "one"); err != nil {
			t.Fatal(err)
		}
		w.unfinished("v2", "pending-upgrade")
		r := w.run(t, "two", said(t))
		r.Planner.Target.Canonical = true
		if err := r.Rollback(t.Context()); exitcode.Of(err) != exitcode.Refused || !w.left("v2") {
			t.Errorf("exit code %d, left: %t, %v", exitcode.Of(err), w.left("v2"), err)
		}
	})
}

// helmFails puts a helm on the PATH that leaves the record of an install, and fails.
func (w *world) helmFails(t *testing.T, says string) {
	t.Helper()
	folder := t.TempDir()
	left := w.helm + leftSuffix
	script := "#!/bin/sh\necho pending-install > " + left + ".new\nmv " + left + ".new " + left + "\necho '" + says + "' >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(folder, "helm"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestAHelmThatLeftItsRecordIsGoneOnWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := engineWorld(t)
		path := os.Getenv("PATH")
		w.helmFails(t, "Error: client connection lost")
		if err := w.toChart(t, "one"); exitcode.Of(err) != exitcode.Failed {
			t.Fatalf("%v", err)
		}
		if lease := w.rancher.Object(engineLease); !strings.Contains(lease, "aws-cloud-controller-manager.v1") || strings.Contains(lease, "one/") {
			t.Errorf("the lock is held, or does not say which record was left: %s", lease)
		}
		t.Setenv("PATH", path)
		if err := w.toChart(t, "two"); err != nil || w.left("v1") || w.rancher.Object(engineLease) != "" {
			t.Errorf("left: %t, lock %s, %v", w.left("v1"), w.rancher.Object(engineLease), err)
		}
	})
}

func TestAHelmThatFoundAnotherOneAtWorkClaimsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := engineWorld(t)
		path := os.Getenv("PATH")
		w.helmFails(t, "Error: UPGRADE FAILED: another operation (install/upgrade/rollback) is in progress")
		if err := w.toChart(t, "one"); exitcode.Of(err) != exitcode.Failed || w.rancher.Object(engineLease) != "" {
			t.Fatalf("lock %s, %v", w.rancher.Object(engineLease), err)
		}
		t.Setenv("PATH", path)
		if err := w.toChart(t, "two"); exitcode.Of(err) != exitcode.Refused || !w.left("v1") {
			t.Errorf("left: %t, %v", w.left("v1"), err)
		}
	})
}
