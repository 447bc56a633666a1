// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
)

func aSummary() Summary {
	row := func(name, file string, errors int, o plan.Summary) Status {
		return Status{Name: name, Format: "rke2", Version: "v1.26.15+rke2r1", Provider: "aws", Situation: plan.ProgressMigrating, Reached: o.Reached, Next: o.Next, Errors: errors, File: file, Summary: o, planned: true}
	}
	return Summary{Refused: 1, Command: "rke-lm apply --next a.yaml", Rows: []Status{
		row("fleet-default/harbour", "a.yaml", 0, plan.Summary{Reached: "enable-leader-migration", Next: "install-ccm", Counts: plan.Counts{ToDo: 2}, Later: []string{"node-rename (switch-to-external)"}}),
		row("fleet-default/orchard", "clusters/orchard.yaml", 2, plan.Summary{Reached: "install-ccm", Next: "switch-to-external", Counts: plan.Counts{ToDo: 1}, Blocked: []string{"node-rename", "csi-gate-stale"}, Restarts: []transform.Restart{{Process: "rke2-server", Classes: []string{"control-plane", "etcd"}}, {Process: "rke2-agent", Classes: []string{"general"}}}}),
		row("depot", "b.yaml", 1, plan.Summary{Reached: "enable-leader-migration", Next: "install-ccm", Manual: true, Counts: plan.Counts{ToDo: 1, Manual: 1}}),
		row("fleet-default/wharf", "c.yaml", 0, plan.Summary{Reached: "disable-leader-migration"}),
	}}
}

// statuses are the lines of a table.
func statuses(width int, rows []Status) []string {
	text := written(func(b *bytes.Buffer) { WriteStatuses(b, Palette{Width: width}, rows) })
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func TestASummaryHasALineForEachCluster(t *testing.T) {
	want := `CLUSTER                VERSION          PROVIDER  SITUATION  REACHED                   NEXT                          FINDINGS  FILE
fleet-default/harbour  v1.26.15+rke2r1  aws       migrating  enable-leader-migration   install-ccm                   -         a.yaml
fleet-default/orchard  v1.26.15+rke2r1  aws       migrating  install-ccm               switch-to-external (blocked)  2 errors  clusters/orchard.yaml
depot                  v1.26.15+rke2r1  aws       migrating  enable-leader-migration   install-ccm (manual)          1 error   b.yaml
fleet-default/wharf    v1.26.15+rke2r1  aws       migrating  disable-leader-migration  done                          -         c.yaml
clusters: 4; to do: 3 (blocked: 1), manual: 0, done: 1; refused: 1
blocked at a later stage (clusters: 1; -o wide shows which): node-rename (switch-to-external)
next: rke-lm apply --next a.yaml
`
	assert.Equal(t, written(func(b *bytes.Buffer) { aSummary().Write(b, Palette{}) }), want)
	wide := written(func(b *bytes.Buffer) { WriteStatuses(b, Palette{Wide: true, Width: 40}, aSummary().Rows) })
	contains(t, wide, "CLUSTER ", "DISTRO ", "BLOCKED BY ", "RESTARTS ", "FILE\n", "rke2 ", "node-rename (switch-to-external) ", "node-rename, csi-gate-stale ", "control-plane, etcd, general ", "clusters/orchard.yaml\n")
}

func TestASummaryFitsTheTerminal(t *testing.T) {
	for _, width := range []int{80, 120, 200} {
		for line := range strings.Lines(written(func(b *bytes.Buffer) { aSummary().Write(b, Palette{Width: width}) })) {
			n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
			assert.Truef(t, n <= width, "width %d: %d columns: %s", width, n, line)
		}
	}
}

// Namespaces, the build of a release and warnings next to errors are the first to be left out, then columns.
func TestANarrowTableHasShorterCellsBeforeItHasFewerColumns(t *testing.T) {
	rows := aSummary().Rows[:2]
	rows[1].Warnings, rows[1].Situation = 3, plan.ProgressBroken("v1.27.1")
	for width, want := range map[int][]string{
		75:  {"CLUSTER VERSION SITUATION NEXT FINDINGS", "harbour v1.26.15 migrating install-ccm -", "orchard v1.26.15 broken switch-to-external (blocked) 2 errors"},
		80:  {"CLUSTER VERSION PROVIDER SITUATION NEXT FINDINGS", "harbour v1.26.15 aws migrating install-ccm -"},
		110: {"CLUSTER VERSION PROVIDER SITUATION NEXT FINDINGS FILE", "harbour v1.26.15 aws migrating install-ccm - a.yaml"},
		140: {"CLUSTER VERSION PROVIDER SITUATION REACHED NEXT FINDINGS FILE", "harbour v1.26.15 aws migrating enable-leader-migration install-ccm - a.yaml"},
		180: {"CLUSTER VERSION PROVIDER SITUATION REACHED NEXT FINDINGS FILE", "fleet-default/harbour v1.26.15+rke2r1 aws migrating enable-leader-migration install-ccm - a.yaml"},
	} {
		assert.EqualSlices(t, lists.Map(statuses(width, rows)[:len(want)], words), want, "width", width)
	}
	twins := []Status{{Name: "fleet-default/harbour", Situation: plan.ProgressNone}, {Name: "fleet-eu/harbour"}}
	contains(t, strings.Join(statuses(40, twins), "\n"), "fleet-default/harbour  -        none ", "fleet-eu/harbour")
	// Of clusters whose next stage is not known the last one is shown. What cannot be read has its whole reason.
	rows[0].planned, rows[1] = false, Status{Name: "fleet-default/orchard", Problem: "missing permissions: list nodes, which the user does not have in any namespace of it"}
	contains(t, strings.Join(statuses(70, rows), "\n"), "VERSION ", "REACHED ", "harbour  v1.26.15 ", "enable-leader-migration", "any namespace of it")
}

func TestATableOfLongNamesKeepsTheReleaseAndWhatIsBlocked(t *testing.T) {
	rows := aSummary().Rows[:2]
	rows[1].Name = "fleet-default/production-eu-central-1-orchard-of-the-third-business-unit-b"
	for width, want := range map[int]string{
		110: "production-eu-central-1-orchard-of-the-third-business-unit-b  v1.26.15  migrating  switch-…(blocked)  2 errors",
		80:  "production-eu-c…business-unit-b  v1.26.15  migrating  switch…(blocked)  2 errors",
		60:  "production-e…ness-unit-b  v1.26.15  migrati…  switch-…  2 errors",
	} {
		assert.Equal(t, statuses(width, rows)[2], want, "width", width)
	}
}

func TestTextFitsTheTerminalAndBreaksNoWord(t *testing.T) {
	text := "Expect a gap of 18 to 43 seconds → no manager runs the cloud controllers, see https://example.com/a-word-that-is-longer-than-the-terminal-is-wide"
	for width, most := range map[int]int{0: usualColumns, 20: leastColumns, 80: 80, 300: mostColumns} {
		lines := strings.Split(Palette{Width: width}.Wrap(text, "  "), "\n")
		for _, line := range lines[:len(lines)-1] {
			assert.Truef(t, utf8.RuneCountInString(line) < most, "width %d: %q", width, line)
		}
		assert.Equal(t, words(strings.Join(lines, " ")), text, "width", width)
	}
}

func TestAFindingThatRepeatsIsPrintedOnceWithItsPlaces(t *testing.T) {
	one := transform.Finding{Rule: "a", Severity: transform.Error, File: "c.yaml", Line: 3, Path: "x", Message: "wrong", Fix: "correct it"}
	two, other := one, one
	two.Line, two.Path, other.Message = 9, "y", "also wrong"
	got := written(func(b *bytes.Buffer) { WriteFindings(b, Palette{}, []transform.Finding{one, other, two}, "") })
	assert.Equal(t, got, "error a  c.yaml:3, c.yaml:9\n  wrong\n  → correct it\nerror a  c.yaml:3\n  also wrong\n  → correct it\n")
}
