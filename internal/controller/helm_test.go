// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/assert"
)

// The image with helm has it on the PATH.
func TestAnRKE1ClusterIsMigratedWithTheHelmOfTheController(t *testing.T) {
	on(t, `{"selector":{}}`, []string{"alder"}, func(t *testing.T, w *world) {
		one := w.AddRKE1(t)
		w.run()
		w.await(v1alpha1.Complete, "")
		spec := one.Spec(t)
		assert.Truef(t, one.HelmRan() && strings.Contains(spec, `"external-aws"`) && !strings.Contains(spec, "enable-leader-migration") && len(one.Cordoned()) == 0, "helm ran: %t, %v, %s", one.HelmRan(), one.Cordoned(), spec)
		assert.True(t, w.object().Status.Counts.Done == 2 && !w.isTrue(v1alpha1.NeedsHelm), w.object().Status)
	})
}

// The other image has none. When it is replaced, a wish lets the cluster begin.
func TestAnRKE1ClusterWaitsForAnImageWithHelm(t *testing.T) {
	on(t, `{"selector":{}}`, []string{"alder"}, func(t *testing.T, w *world) {
		one := w.AddRKE1(t)
		with := os.Getenv("PATH")
		t.Setenv("PATH", t.TempDir())
		w.run()
		w.await(v1alpha1.NeedsHelm, "")
		w.await(v1alpha1.Complete, "")
		s := w.object().Status
		assert.Truef(t, s.Counts.Skipped == 1 && s.Counts.Done == 1 && !one.HelmRan() && one.Patches() == 0, "%+v, %v", s, one.Writes())
		assert.Contains(t, w.message(v1alpha1.NeedsHelm), "c-x7k2p")
		w.end()
		t.Setenv("PATH", with)
		w.wish("image with helm")
		w.run()
		time.Sleep(time.Hour)
		w.await(v1alpha1.Complete, "")
		assert.True(t, !w.isTrue(v1alpha1.NeedsHelm) && one.HelmRan() && w.object().Status.Counts.Done == 2, w.object().Status)
	})
}
