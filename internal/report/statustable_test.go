// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
)

func TestTheColumnsOfATableAreFixedBeforeItsFirstRow(t *testing.T) {
	known := []Status{{Name: "fleet-default/orchard"}, {Name: "fleet-default/a-name-that-is-long", Migrations: []string{"rke-lm/staging"}}}
	var out strings.Builder
	table := NewStatusTable(&out, known)
	rows := []Status{
		{Name: "fleet-default/orchard", Distro: "rke2", Version: "v1.26.15+rke2r1", Provider: "aws", Situation: "migrating", Reached: "disable-leader-migration", Warnings: 2},
		{Name: "fleet-default/a-name-that-is-long", Problem: "missing permissions:\n get clusters", Migrations: []string{"rke-lm/staging"}},
		{Name: strings.Repeat("x", 50), Version: "v1"},
	}
	for i, s := range rows {
		table.Add(s)
		if got := strings.Count(out.String(), "\n"); got != i+2 {
			t.Errorf("%d lines after %d clusters", got, i+1)
		}
	}
	lines := strings.Split(out.String(), "\n")
	for column, values := range map[string][2]string{
		"CLUSTER": {"fleet-default/orchard ", "fleet-default/a-name"}, "DISTRO": {"rke2 ", "- "}, "REACHED": {"disable-leader-migration ", "- "},
		"LEADERMIGRATION": {"- ", "rke-lm/staging "}, "FINDINGS": {"errors: 0, warnings: 2", "missing permissions: get clusters"},
	} {
		at := strings.Index(lines[0], column)
		for i, want := range values {
			if line := lines[i+1]; at < 0 || !strings.HasPrefix(line[at:], want) {
				t.Errorf("%s is not below %s: %q", want, column, line)
			}
		}
	}
	if !strings.HasPrefix(lines[3], rows[2].Name+" -") {
		t.Errorf("a long name has no blank after it: %q", lines[3])
	}
}
