// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// newer is a cloud-controller-manager whose controllers have other names.
func newer(w agent.Wanted) agent.Wanted {
	chart := *w.CCM
	chart.Minor = "v1.28"
	w.CCM = &chart
	return w
}

func TestANewerManagerWithTheDefaultConfigurationIsASecondOwner(t *testing.T) {
	s := mistake(t)
	s.until(planned(t, document(t, "rke2.yaml")), newer)
	s.twoOwners()
	s.doubled()
	const why = "cloud-controller-manager does not have them in its leader migration configuration; kube-controller-manager holds the lease cloud-provider-extraction-migration"
	s.verifies(stages.InstallCCM, "two owners, and why", func(v verdict) bool {
		return v.code == 1 && slices.ContainsFunc(v.Findings, func(f transform.Finding) bool {
			return f.Rule == "cloud-controllers-twice" && f.Severity == "error" && strings.HasSuffix(f.Message, why)
		})
	})
	s.end("newer-ccm-default-names")
}

func TestANewerManagerWithItsOwnNamesWaits(t *testing.T) {
	s := begin(t, "cp-1")
	s.join()
	plan := planned(t, document(t, "rke2.yaml"))
	file := s.configuration("node-route-controller", "service-lb-controller", "cloud-node-lifecycle-controller")
	configured := func(w agent.Wanted) agent.Wanted {
		w = newer(w)
		w.CCM.Args = append(slices.Clone(w.CCM.Args), "--leader-migration-config="+file)
		return w
	}
	s.until(plan, configured)
	assert.NilError(t, s.service(t.Context(), "before"))
	s.served()
	s.rollOut(configured(at(s, plan, stages.SwitchToExternal)))
	assert.NilError(t, s.service(t.Context(), "after"))
	s.served()
	s.oneOwner()
	s.end("newer-ccm-own-names")
}

// configuration writes a LeaderMigrationConfiguration that lists the given controllers.
func (s *scenario) configuration(names ...string) string {
	s.Helper()
	var b strings.Builder
	b.WriteString("kind: LeaderMigrationConfiguration\napiVersion: controllermanager.config.k8s.io/v1\nleaderName: cloud-provider-extraction-migration\ncontrollerLeaders:\n")
	for _, name := range names {
		b.WriteString("  - name: " + name + "\n    component: \"*\"\n")
	}
	file := filepath.Join(s.cluster.Dir, "leadermigration.conf")
	assert.NilError(s, os.WriteFile(file, []byte(b.String()), 0o644))
	return file
}
