// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// End says how a run ended before its end.
type End struct {
	Title, Stage string
	Err          error
	Outcome      Outcome
}

func (e *End) Error() string {
	where := ""
	if e.Stage != "" {
		where = " at " + e.Stage
	}
	lines := []string{fmt.Sprintf("%s: stopped%s: %s", e.Title, where, e.Err), "  done: " + cmp.Or(strings.Join(e.Outcome.Done, ", "), "no stage"), "  now: " + e.Outcome.Holds}
	if e.Outcome.Continue != "" {
		lines = append(lines, "  to continue: "+e.Outcome.Continue, "  to roll back: "+e.Outcome.Revert)
	}
	return strings.Join(lines, "\n")
}

func (e *End) Unwrap() error { return e.Err }

// endedBy is an error with the findings that the run could not get past.
type endedBy struct {
	error
	findings []transform.Finding
}

func (e *endedBy) Unwrap() error { return e.error }

// ExitCode is that of what ended the run. What does not come in time, and whoever
// ends it, says none.
func (e *End) ExitCode() transform.ExitCode { return transform.ExitCodeOr(e.Err, transform.ExitFailed) }

// end reports how the run ended.
func (r *run) end(err error) error {
	b := r.from
	if b.plan == nil {
		return err
	}
	e := &End{Title: r.Object.Title(), Stage: r.progress.stage, Err: err, Outcome: Outcome{Done: r.progress.done, Holds: stages.LeaderAfter(r.progress.last(), b.plan.Target)}}
	if err == nil {
		message := "all requested stages are done"
		if r.progress.stage = ""; !r.progress.wrote {
			message = "nothing to do"
		}
		r.emit(Event{Type: Finished, Message: message, End: &e.Outcome})
		return nil
	}
	e.Outcome.Holds = transition.Between(b.plan.Target, r.progress.last(), r.progress.stage, r.progress.edit)
	if r.writer.lock != nil {
		e.Outcome.Continue, e.Outcome.Revert = r.Continue, r.Revert
	}
	stopped := Event{Type: Stopped, Message: e.Err.Error(), End: &e.Outcome}
	if by, is := errors.AsType[*endedBy](err); is {
		stopped.Findings = by.findings
	}
	r.emit(stopped)
	return e
}
