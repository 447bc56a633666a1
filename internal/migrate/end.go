// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/live/route"
)

// End says how a run ended before its end.
type End struct {
	Title, Stage string
	Err          error
	State        report.RunEnd
}

func (e *End) Error() string {
	where := ""
	if e.Stage != "" {
		where = " at " + e.Stage
	}
	lines := []string{fmt.Sprintf("%s: stopped%s: %s", e.Title, where, e.Err), "  done: " + none(e.State.Done), "  now: " + e.State.Holds}
	if e.State.Again != "" {
		lines = append(lines, "  to go on: "+e.State.Again, "  to go back: "+e.State.Back)
	}
	return strings.Join(lines, "\n")
}

func (e *End) Unwrap() error { return e.Err }

// findings are those that the run could not get past.
func (e *End) findings() []transform.Finding {
	var l *late
	var b *blocked
	switch {
	case errors.As(e.Err, &l):
		return l.findings
	case errors.As(e.Err, &b):
		return b.findings
	}
	return nil
}

func none(list []string) string {
	if len(list) == 0 {
		return "no stage"
	}
	return strings.Join(list, ", ")
}

// ExitCode is that of what ended the run. What does not come in time, and whoever
// ends it, says none.
func (e *End) ExitCode() exitcode.Code { return exitcode.Or(e.Err, exitcode.Failed) }

// end says how the run ended.
func (r *Run) end(err error, b *start) error {
	if b == nil {
		return err // the cluster's object could not even be planned
	}
	position := ""
	if len(r.done) > 0 {
		position = r.done[len(r.done)-1]
	}
	e := &End{Title: r.Object.Title(), Stage: r.stage, Err: err, State: report.RunEnd{Done: r.done, Holds: route.Holds(position)}}
	if err == nil {
		r.stage = ""
		r.say(report.RunEvent{Type: report.Finished, Message: r.summary(), End: &e.State})
		return nil
	}
	e.State.Holds = route.Between(position, r.stage, r.edited)
	if r.lock != nil {
		e.State.Again, e.State.Back = r.Again, r.Back
	}
	r.say(report.RunEvent{Type: report.Stopped, Message: e.Err.Error(), End: &e.State, Findings: report.Findings(e.findings())})
	return e
}

func (r *Run) summary() string {
	if !r.made {
		return "nothing was left to do"
	}
	return "all that was asked for is done"
}
