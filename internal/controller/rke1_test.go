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
	"github.com/rke-lm/rke-lm/transform/stages"
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

// The others are migrated. When the operator has migrated it himself, a wish makes it done.
func TestAnRKE1ClusterWithValuesOfItsOwnIsSkipped(t *testing.T) {
	on(t, `{"selector":{}}`, []string{"alder"}, func(t *testing.T, w *world) {
		one := w.AddRKE1(t)
		one.PutRelease(t, `{"args":["--v=2","--cloud-provider=aws","--configure-cloud-routes=false"],"image":{"repository":"mirror.example/ccm"}}`+"\n")
		w.run()
		w.await(v1alpha1.Complete, "")
		s := w.object().Status
		assert.Truef(t, s.Counts.Skipped == 1 && s.Counts.Done == 1 && s.Counts.Failed == 0 && !one.HelmRan() && one.Patches() == 0, "%+v, %v", s, one.Writes())
		assert.True(t, w.isTrue(v1alpha1.NeedsValues) && strings.Contains(w.message(v1alpha1.NeedsValues), "c-x7k2p") && !w.isTrue(v1alpha1.NeedsHelm) && !w.isTrue(v1alpha1.Failed), s.Conditions)
		for _, cluster := range s.Clusters {
			assert.True(t, cluster.Name != "c-x7k2p" || cluster.Reason == v1alpha1.NeedsValues && strings.Contains(cluster.Message, "image.repository") && !strings.Contains(cluster.Message, "mirror.example") && strings.Join(cluster.Findings, " ") == "release-values-replaced", cluster)
		}

		// The state outlives the controller.
		w.end()
		w.run()
		time.Sleep(time.Hour)
		w.await(v1alpha1.NeedsValues, "")
		assert.True(t, w.object().Status.Counts.Skipped == 1 && !one.HelmRan(), w.object().Status)
		w.end()

		one.PutRelease(t, "args: [--v=2, --cloud-provider=aws, --configure-cloud-routes=false]\n")
		w.wish("without values of its own")
		w.run()
		time.Sleep(time.Hour)
		w.await(v1alpha1.Complete, "")
		assert.True(t, w.object().Status.Counts.Done == 2 && one.HelmRan() && !w.isTrue(v1alpha1.NeedsValues), w.object().Status)
	})
}

// It was switched before the LeaderMigration, and the release still takes part in the migration.
func TestAnExternalRKE1ClusterWithValuesOfItsOwnIsSkipped(t *testing.T) {
	on(t, `{"selector":{}}`, []string{"alder"}, func(t *testing.T, w *world) {
		one := w.AddRKE1(t)
		one.Rancher.Edit(one.Path, func(o map[string]any) {
			config := o["spec"].(map[string]any)["rancherKubernetesEngineConfig"].(map[string]any)
			config["cloudProvider"].(map[string]any)["name"] = "external-aws"
		})
		one.PutRelease(t, `{"args":["--v=2","--cloud-provider=aws","--configure-cloud-routes=false","--enable-leader-migration=true"],"image":{"repository":"mirror.example/ccm","tag":"v1.26.6"}}`+"\n")
		w.run()
		w.await(v1alpha1.Complete, "")
		s := w.object().Status
		assert.Truef(t, s.Counts.Skipped == 1 && s.Counts.Failed == 0 && !one.HelmRan() && one.Patches() == 0 && w.isTrue(v1alpha1.NeedsValues), "%+v, %v", s, one.Writes())
	})
}

// It got them between two stages: the cluster is neither skipped nor changed.
func TestAnRKE1ClusterThatGetsValuesOfItsOwnLaterFails(t *testing.T) {
	on(t, `{"selector":{},"maxUnavailable":2,"maxFailures":1,"approval":"stage"}`, []string{"alder"}, func(t *testing.T, w *world) {
		one := w.AddRKE1(t)
		w.run()
		for _, stage := range []string{stages.GrantMigrationLease, stages.EnableLeaderMigration, stages.InstallCCM} {
			time.Sleep(time.Hour)
			w.approve("rest", stage)
		}
		time.Sleep(time.Hour)
		one.PutRelease(t, one.Values(t)+"podAnnotations: {team: platform}\n")
		w.approve("rest", stages.SwitchToExternal)
		time.Sleep(time.Hour)
		s := w.object().Status
		for _, c := range s.Clusters {
			assert.True(t, c.Name != "c-x7k2p" || c.State == "failed" && c.Reason == "" && strings.Contains(c.Message, "podAnnotations.team"), c)
		}
		assert.True(t, s.Counts.Failed == 1 && strings.Contains(one.Values(t), "team: platform"), s)
	})
}
