// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestANodeUnderAnotherNameAndANewOneArePermanent(t *testing.T) {
	assert.True(t, !Permanent([]transform.Finding{{Rule: "node-renamed", Severity: transform.Error, Accepted: true}, {Rule: "x", Severity: transform.Error}}), "what is accepted stops nothing")
	for _, rule := range []string{"node-renamed", "node-new"} {
		assert.Truef(t, Permanent([]transform.Finding{{Rule: rule, Severity: transform.Error}}), "%s does not pass", rule)
	}
}

func TestWhereARunStoppedIsReportedWithWhatBecameOfTheEdit(t *testing.T) {
	for _, name := range append([]string{""}, stages.Names()...) {
		texts := map[string]bool{}
		for _, e := range []Edit{NotWritten, MayBeWritten, Written} {
			texts[Between(transform.Target{}, name, "next", e)] = true
		}
		assert.Truef(t, Between(transform.Target{}, name, "next", NotWritten) == stages.LeaderAfter(name, transform.Target{}) && len(texts) == 3, "%q: %v", name, texts)
	}
}
