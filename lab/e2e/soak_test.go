// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// soak names the environment variable that enables what is too long otherwise: the managers' default
// timings, and the scenarios that only the soak has.
const soak = "LAB_SOAK"

func soaks() bool { return os.Getenv(soak) != "" }

// onlyInSoak skips a scenario that is too long otherwise.
func onlyInSoak(t *testing.T) {
	t.Helper()
	if !soaks() {
		t.Skip("takes minutes; make soak runs it")
	}
	t.Parallel()
}

// routes are those of all formats.
var routes = []struct {
	name  string
	along func(*scenario) route
}{
	{"rke2", func(s *scenario) route { return s.alongRKE2(planned(s.T, document(s.T, "rke2.yaml"))) }},
	{"rke1", func(s *scenario) route { return s.alongRKE1(transform.Target{}) }},
	{"manifest", func(s *scenario) route {
		return s.alongManifests(document(s.T, "kubeadm/cloud-controller-manager.yaml"))
	}},
}

func TestStagesAreUndoneFromEachInEveryFormat(t *testing.T) {
	onlyInSoak(t)
	for _, w := range routes {
		for _, stage := range stages.UndoNames() {
			t.Run(w.name+"/"+stage, func(t *testing.T) {
				s := begin(t, "cp-1", "cp-2", "cp-3")
				s.forwardAndBack(w.along(s), stage)
				s.end("undo-" + w.name + "-" + stage)
			})
		}
	}
}

// Each manager has names of its own for the controllers, and a configuration that comes and goes.
func TestStagesAreUndoneWithANewerManager(t *testing.T) {
	onlyInSoak(t)
	for name, along := range map[string]func(*scenario) route{
		"rke1":     func(s *scenario) route { return s.alongRKE1(newerTarget) },
		"manifest": func(s *scenario) route { return s.alongManifests(newerManifest(s.T)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, "cp-1", "cp-2", "cp-3")
			s.forwardAndBack(along(s), stages.DisableLeaderMigration)
			s.end("undo-" + name + "-newer-ccm")
		})
	}
}
