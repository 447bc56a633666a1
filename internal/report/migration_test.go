// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/transition"
)

// waits are three observations of two machines, of which one gets on.
func waits() []RunEvent {
	observe := func(state string, done bool) RunEvent {
		return RunEvent{Event: migrate.Event{Type: migrate.Awaited, Message: "machine a: x", Machines: []rollout.MachineProgress{{Name: "a", Node: "n-a", Waiting: "x"}, {Name: "b", Node: "n-b", Waiting: state, Done: done}}}}
	}
	return []RunEvent{observe("y", false), observe("z", false), observe("", true)}
}

func TestWithoutATerminalOnlyWhatIsNewIsReported(t *testing.T) {
	var out, err bytes.Buffer
	text := &RunText{Out: &out, Err: &err}
	for _, e := range waits() {
		text.Write(e)
	}
	want := "  waiting: machine a: x\n    a (n-a): x\n    b (n-b): y\n    b (n-b): z\n    b (n-b): done\n"
	assert.Truef(t, err.String() == want && out.Len() <= 0, "%q %q", err.String(), out.String())
}

func TestOnATerminalTheMachinesAreDrawnAgain(t *testing.T) {
	var out, err bytes.Buffer
	text := &RunText{Out: NewEscapingWriter(&out), Err: NewEscapingWriter(&err), Width: 14}
	for _, e := range waits() {
		text.Write(e)
	}
	block := "  waiting: ma\n    a (n-a): \n    b (n-b): \n"
	want := block + "\x1b[3A\x1b[J" + block + "\x1b[3A\x1b[J" + block
	assert.True(t, err.String() == want, err.String())
	text.Write(RunEvent{Event: migrate.Event{Type: migrate.Checked, Message: "it holds"}})
	err.Reset()
	text.Write(waits()[0])
	assert.Truef(t, !strings.Contains(err.String(), "\x1b") && out.String() == "  ok it holds\n", "the lines above are not overwritten: %q %q", err.String(), out.String())
}

func TestAStageIsShownBeforeItIsDone(t *testing.T) {
	var out, err bytes.Buffer
	text := &RunText{Out: &out, Err: &err}
	text.Write(RunEvent{Event: migrate.Event{Type: migrate.Staged, Stage: "install-ccm", Message: "Why.", Diff: "+a\n", Actions: []action.Action{{Why: "look", Command: "kubectl get"}}, Prepare: []action.Action{{Why: "a tag is there", Command: "aws a\naws b"}},
		Findings: []transform.Finding{{Rule: "r", Severity: transform.Warning, Path: "p", Message: "m"}}}})
	want := "\ninstall-ccm\n  Why.\n  warning r  p\n    m\n\n+a\n  # add in AWS, if missing: a tag is there\n  #   aws a\n  #   aws b\n  # look\n  $ kubectl get\n"
	assert.Equal(t, out.String(), want)
	text.Write(RunEvent{Event: migrate.Event{Type: migrate.Stopped, Message: "no", Findings: []transform.Finding{{Rule: "r", Severity: transform.Error, Path: "p", Message: "password=hunter2"}}}})
	s := err.String()
	assert.True(t, strings.Contains(s, "error r  p") && !strings.Contains(s, "hunter2"), s)
}

func TestAnEventIsOneLine(t *testing.T) {
	out, _, _ := shownBy(func(c *Collector) {
		c.OutputFormat = "json"
		NewRuns(c, nil, false).Show(migrate.Member{}, migrate.Event{Type: migrate.Noted, Cluster: "c", Message: "a\nb <c>"})
	})
	want := `{"apiVersion":"rke-lm/v1","kind":"RunEvent","time":"0001-01-01T00:00:00Z","cluster":"c","type":"note","message":"a\nb <c>"}` + "\n"
	assert.Equal(t, out, want)
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// change is a cluster that has changed, by an event.
type change struct {
	member migrate.Member
	event  RunEvent
}

// changes are those of two clusters, of which one fails.
func changes() []change {
	of := func(name string, s transition.State, stage, waiting string) migrate.Member {
		return migrate.Member{Cluster: name, Wave: "wave-1", State: s, Stage: stage, Since: noon, Waiting: waiting}
	}
	failed := of("b", transition.Failed, "install-ccm", "")
	failed.Err = errors.New("b: stopped at install-ccm: no\n  done: no stage")
	return []change{
		{of("a", transition.Running, "", ""), RunEvent{}},
		{of("b", transition.Running, "", ""), RunEvent{}},
		{of("a", transition.Running, "install-ccm", ""), RunEvent{Event: migrate.Event{Type: migrate.Staged, Stage: "install-ccm", Message: "Why."}}},
		{of("a", transition.Running, "install-ccm", "for x"), RunEvent{Event: migrate.Event{Type: migrate.Awaited, Stage: "install-ccm", Message: "for x"}}},
		{of("a", transition.Running, "install-ccm", "for x"), RunEvent{Event: migrate.Event{Type: migrate.Awaited, Stage: "install-ccm", Message: "for x"}}},
		{failed, RunEvent{}},
		{of("a", transition.Done, "verify-provider-ids", ""), RunEvent{}},
	}
}

var twoWaves = []transition.Wave{{Name: "wave-1", Clusters: []string{"a", "b"}}, {Name: "wave-2", Clusters: []string{"c"}}}

func TestWithoutATerminalEveryClusterHasItsLines(t *testing.T) {
	var err bytes.Buffer
	text := &FleetText{Err: &err, Waves: twoWaves}
	for _, c := range changes() {
		text.Write(c.member, c.event)
	}
	want := "a: starts in wave-1\nb: starts in wave-1\na: stage install-ccm\na: waiting: for x\nb: failed: stopped at install-ccm: no\na: done\n"
	assert.Equal(t, err.String(), want)
}

func TestOnATerminalTheClustersInProgressAreDrawnAgain(t *testing.T) {
	var err bytes.Buffer
	text := &FleetText{Err: NewEscapingWriter(&err), Width: 80, Height: 24, Waves: twoWaves}
	drawn := func() string { s := err.String(); err.Reset(); return s }
	list := changes()
	text.Write(list[0].member, list[0].event)
	text.Write(list[1].member, list[1].event)
	drawn()
	text.Write(list[3].member, list[3].event)
	table := drawn()
	want := "\x1b[3A\x1b[Jwave-1: in progress: 2, done: 0, failed: 0, waiting: 1\n" +
		"  a                              install-ccm              12:00:00  for x\n" +
		"  b                              -                        12:00:00  \n"
	assert.Equal(t, table, want)
	text.Write(list[5].member, list[5].event)
	s := drawn()
	assert.True(t, strings.HasPrefix(s, "\x1b[3A\x1b[Jb: failed: stopped at install-ccm: no\nwave-1: in progress: 1, done: 0, failed: 1, waiting: 1\n"), s)
	text.Write(list[6].member, list[6].event)
	assert.Equal(t, drawn(), "\x1b[2A\x1b[Ja: done\n")
}

func TestATableIsNoLargerThanTheTerminal(t *testing.T) {
	var err bytes.Buffer
	wave := transition.Wave{Name: "wave-1", Clusters: strings.Split("abcdefgh", "")}
	text := &FleetText{Err: NewEscapingWriter(&err), Width: 20, Height: 6, Waves: []transition.Wave{wave}}
	for _, name := range wave.Clusters {
		err.Reset()
		text.Write(migrate.Member{Cluster: name, Wave: "wave-1", State: transition.Running, Stage: "install-ccm", Since: noon}, RunEvent{})
	}
	lines := strings.Split(strings.TrimSuffix(err.String(), "\n"), "\n")
	assert.True(t, len(lines) == 5 && lines[4] == "  and 5 more", lines)
	for _, l := range lines[1:] {
		assert.Truef(t, len(l) < 20, "%q does not fit", l)
	}
}

func TestTheReportOverManyClustersNamesWhatFailedAndHowToContinue(t *testing.T) {
	finding := transform.Finding{Rule: "owners-two", Severity: transform.Error, Path: "p", Message: "password=hunter2"}
	s := migrate.Summary{Stopped: true, Members: []migrate.Member{
		{Cluster: "a", Wave: "canary", State: transition.Done, Stage: "verify-provider-ids", Since: noon, Switch: &migrate.Owned{None: 17.5, One: 60, Unknown: 2}},
		{Cluster: "b", Wave: "wave-2", State: transition.Failed, Stage: "install-ccm", Since: noon, Findings: []transform.Finding{finding}, Err: transform.NewError(transform.ExitRefused, "it is refused"), Switch: &migrate.Owned{Two: 3}},
		{Cluster: "c", Wave: "wave-2", State: transition.Waiting},
	}}
	m := NewMigration(s, "rke-lm migrate -l x")
	assert.True(t, m.Done == 1 && m.Failed == 1 && m.NotStarted == 1 && m.Clusters[1].ExitCode == transform.ExitRefused && m.Clusters[2].Since.IsZero() && !strings.Contains(m.Clusters[1].Findings[0].Message, "hunter2"), m)
	want := `
CLUSTER  WAVE    STATE    STAGE                SINCE                 GAP AT THE SWITCH       FINDINGS
a        canary  done     verify-provider-ids  2026-01-02T12:00:00Z  17.5 s (unknown: 2 s)   -
b        wave-2  failed   install-ccm          2026-01-02T12:00:00Z  0 s, two managers: 3 s  owners-two
c        wave-2  waiting  -                    -                     -                       -

failed: it is refused

done: 1, failed: 1, not started: 1 (more clusters failed than are tolerated)
to continue: rke-lm migrate -l x
`
	assert.Equal(t, written(func(b *bytes.Buffer) { WriteMigration(b, Palette{}, m) }), want)
	s.Err = errors.New("interrupted")
	assert.Equal(t, NewMigration(s, "").Stopped, "interrupted")
	s.Members, s.Stopped, s.Err = s.Members[:1], false, nil
	m = NewMigration(s, "again")
	assert.True(t, m.Continue == "" && m.Stopped == "", m)
}
