// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// The chart's value namespace brings the manager to a namespace of its own, from where it runs the
// controllers as from any other. Leader migration holds the two apart there, too.
func TestAManagerInAnotherNamespaceIsASecondOwner(t *testing.T) {
	if soaks() {
		t.Skip("is the same with the default timings")
	}
	s := begin(t, "cp-1")
	s.space = "aws-ccm"
	if _, err := s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.space}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.kubelets(s.join())
	doc := document(t, "rke2.yaml")
	hasty := plannedFor(t, doc, transform.Target{EndState: transform.EndStateExternal, Accept: []string{"node-rename"}, NoLeaderMigration: true})
	s.rollOut(s.wanted(doc))
	s.leads(cluster.KCM)
	s.rollOut(at(s, hasty, stages.InstallCCM))
	s.twoOwners()
	s.doubled()
	s.verifies(stages.InstallCCM, "cloud-controllers-twice and no daemonset-empty", func(v verdict) bool {
		empty := slices.ContainsFunc(v.Findings, func(f transform.Finding) bool { return f.Rule == "daemonset-empty" })
		return v.code == 1 && v.has("cloud-controllers-twice") && !empty
	})

	plan := planned(t, doc)
	s.rollOut(at(s, plan, stages.EnableLeaderMigration))
	s.gate(stages.EnableLeaderMigration) // or the cloud-controller-manager may acquire the lease before the other
	s.rollOut(at(s, plan, stages.InstallCCM))
	s.eventually("one owner", func(context.Context) bool { return s.owner() == cluster.KCM })
	s.approved(stages.InstallCCM)
	s.end("ccm-in-another-namespace")
}
