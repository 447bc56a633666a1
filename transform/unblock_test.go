// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform_test

import (
	"testing"

	"github.com/rke-lm/rke-lm/transform"
)

func TestOnlyRulesThatTakeItAreOfferedToAccept(t *testing.T) {
	rules := []transform.Rule{{ID: "soft", Acceptable: true}, {ID: "hard"}, {ID: "other", Acceptable: true}}
	found := func(ids ...string) (list []transform.Finding) {
		for _, id := range ids {
			list = append(list, transform.Finding{Rule: id, Severity: transform.Error})
		}
		return append(list, transform.Finding{Rule: "other", Severity: transform.Error, Accepted: true}, transform.Finding{Rule: "other", Severity: transform.Warning})
	}
	for want, list := range map[string][]transform.Finding{
		"correct them, or accept them with --accept soft":                            found("soft", "soft"),
		"correct them, or accept them with --accept soft --accept other":             found("soft", "other"),
		"correct them; not all of them can be accepted, but some with --accept soft": found("soft", "hard"),
		"correct them; none of them can be accepted":                                 found("hard", "unknown"),
	} {
		if got := transform.Unblock(list, rules); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
