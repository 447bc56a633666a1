// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"regexp"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// leaseGrantMissing is about a manager with the flag; its permission is never in
// the same document.
func (m *migration) leaseGrantMissing() []transform.Finding {
	if m.Component != kubeManager {
		return nil
	}
	name, _ := m.provider()
	return rules.LeaseGrantMissing.Check(m.arguments.List(), name)
}

var permissionForm = regexp.MustCompile(`(?m)^[^#\n]*kind["']?\s*:\s*["']?(Cluster)?Role(Binding)?\b`)

// Beside implements transform.Dependent.
func (m *migration) Beside(text []byte) bool { return permissionForm.Match(text) }

// Misses implements transform.Dependent. Files without any permissions, such as a
// folder of static pods, tell nothing.
func (m *migration) Misses(rule string, beside []*yamledit.Document) bool {
	if rule != rules.LeaseGrantMissing.ID {
		return true
	}
	return len(beside) > 0 && !leadermigration.Granted(beside, m.target.Lease())
}
