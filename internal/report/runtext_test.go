// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
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
	var out bytes.Buffer
	assert.NilError(t, WriteJSONLine(&out, RunEvent{Type("RunEvent"), migrate.Event{Type: migrate.Noted, Cluster: "c", Message: "a\nb <c>"}}))
	want := `{"apiVersion":"rke-lm/v1","kind":"RunEvent","time":"0001-01-01T00:00:00Z","cluster":"c","type":"note","message":"a\nb <c>"}` + "\n"
	assert.Equal(t, out.String(), want)
}
