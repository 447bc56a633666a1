// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// killedWithHelm leaves the lock of a run that died while its helm ran.
func (w *world) killedWithHelm(t *testing.T, record string) {
	w.Rancher.Put(t, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"rke-lm-c-x7k2p","namespace":"c-x7k2p","uid":"u-lease",
 "annotations":{"rke-lm.io/helm":"kube-system/sh.helm.release.v1.aws-cloud-controller-manager.`+record+`"}},
 "spec":{"holderIdentity":"dead/1/x","leaseDurationSeconds":15}}`)
}

// toChart migrates up to the chart.
func (w *world) toChart(t *testing.T, agent string) error {
	return w.does(t, agent, migrate.Forward, until(stages.InstallCCM))
}

func TestTheRecordOfAHelmThatDiedWithItsRunIsRemoved(t *testing.T) {
	onRKE1(t, func(t *testing.T, w *world) {
		w.PutRecord("v1", "pending-install")
		w.killedWithHelm(t, "v1")
		assert.NilError(t, w.toChart(t, "one"))
		assert.Truef(t, !w.HasRecord("v1") && w.HelmRan(), "left: %t, helm ran: %t", w.HasRecord("v1"), w.HelmRan())
		assert.Equal(t, w.Rancher.Object(w.Lock), "", "the lock was not released")
	})
}

func TestTheRecordOfSomeoneElsesHelmStopsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, status := range []string{"pending-install", "pending-upgrade", "pending-rollback", "uninstalling"} {
			for name, lock := range map[string]func(*world){
				"no one ran":     func(*world) {},
				"a run died":     func(w *world) { w.killedWithHelm(t, "v1") },
				"without a helm": func(w *world) { w.killedWithHelm(t, "") },
			} {
				w := rke1World(t)
				w.PutRecord("v2", status)
				lock(w)
				err := w.toChart(t, "one")
				assert.Truef(t, transform.ExitCodeOf(err) == transform.ExitRefused && w.HasRecord("v2") && !w.HelmRan(), "%s, %s: exit code %d, left: %t, helm ran: %t, %v", status, name, transform.ExitCodeOf(err), w.HasRecord("v2"), w.HelmRan(), err)
				assert.ContainsAll(t, fmt.Sprint(err), []string{"kube-system/aws-cloud-controller-manager is " + status + " since 2025-03-11 09:58:07 UTC", "helm -n kube-system history aws-cloud-controller-manager", "stopped at install-ccm", "to continue"})
			}
		}
	})
}

func TestAReleaseThatSomeoneElseChangesIsNotTakenOut(t *testing.T) {
	onRKE1(t, func(t *testing.T, w *world) {
		assert.NilError(t, w.toChart(t, "one"))
		w.PutRecord("v2", "pending-upgrade")
		err := w.does(t, "two", migrate.Backward, canonical)
		assert.Truef(t, transform.ExitCodeOf(err) == transform.ExitRefused && w.HasRecord("v2"), "exit code %d, left: %t, %v", transform.ExitCodeOf(err), w.HasRecord("v2"), err)
	})
}

func TestAHelmThatLeftItsRecordIsResumed(t *testing.T) {
	onRKE1(t, func(t *testing.T, w *world) {
		path := os.Getenv("PATH")
		w.PutFailingHelm(t, "Error: client connection lost")
		err := w.toChart(t, "one")
		assert.Must(t, transform.ExitCodeOf(err) == transform.ExitFailed, err)
		lease := w.Rancher.Object(w.Lock)
		assert.Truef(t, strings.Contains(lease, "aws-cloud-controller-manager.v1") && !strings.Contains(lease, "one/"), "the lock is held, or does not say which record was left: %s", lease)
		t.Setenv("PATH", path)
		assert.NilError(t, w.toChart(t, "two"))
		assert.Truef(t, !w.HasRecord("v1") && w.Rancher.Object(w.Lock) == "", "left: %t, lock %s", w.HasRecord("v1"), w.Rancher.Object(w.Lock))
	})
}

func TestAHelmThatFoundAnotherOneRunningClaimsNothing(t *testing.T) {
	onRKE1(t, func(t *testing.T, w *world) {
		path := os.Getenv("PATH")
		w.PutFailingHelm(t, "Error: UPGRADE FAILED: another operation (install/upgrade/rollback) is in progress")
		err := w.toChart(t, "one")
		assert.Mustf(t, transform.ExitCodeOf(err) == transform.ExitFailed && w.Rancher.Object(w.Lock) == "", "lock %s, %v", w.Rancher.Object(w.Lock), err)
		t.Setenv("PATH", path)
		err = w.toChart(t, "two")
		assert.Truef(t, transform.ExitCodeOf(err) == transform.ExitRefused && w.HasRecord("v1"), "left: %t, %v", w.HasRecord("v1"), err)
	})
}
