// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestAClusterWhoseManagerIsRemovedAfterTheSwitchIsNotMigratedFurther(t *testing.T) {
	on(t, `{"selector":{},"until":"switch-to-external"}`, []string{"alder"}, func(t *testing.T, w *world) {
		w.run()
		w.await(v1alpha1.Complete, "")
		w.end()
		one := w.Worlds["alder"]
		one.API.Do(func() {
			one.API.DaemonSets = nil
			one.API.Pods = slices.DeleteFunc(one.API.Pods, func(p corev1.Pod) bool { return strings.Contains(p.Name, "cloud-controller-manager") })
			clear(one.API.Renews)
		})
		one.Forget()
		w.Rancher.Edit(path, func(o map[string]any) { // as after a delete and a create
			delete(o, "status")
			delete(o["spec"].(map[string]any), "until")
		})
		w.lead()
		w.await(v1alpha1.Failed, "")
		c := w.object().Status.Clusters[0]
		assert.Truef(t, c.State == "failed" && slices.Contains(c.Findings, "ccm-removed") && one.Patches() == 0, "%+v, %d patches of the cluster", c, one.Patches())
	})
}
