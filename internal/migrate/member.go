// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"errors"
	"time"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// Member is how far one of many clusters is.
type Member struct {
	Cluster    string              `json:"cluster"`
	ID         string              `json:"-"` // in Rancher, if the controller runs it
	Wave       string              `json:"wave"`
	State      transition.State    `json:"state"`
	Stage      string              `json:"stage,omitempty"`  // in progress, or where the run stopped; of one that is done, the last one
	Since      time.Time           `json:"since,omitzero"`   // when it came to that state or that stage
	Waiting    string              `json:"-"`                // what its run waits for
	Switch     *Owned              `json:"switch,omitempty"` // who owned the cloud controllers at the switch; nil if this run did not switch
	Watched    Owned               `json:"owners,omitzero"`  // and in all stages of this run
	Findings   []transform.Finding `json:"findings,omitempty"`
	Outcome    *Outcome            `json:"-"` // of a run that has ended
	Err        error               `json:"-"` // why it failed, or is skipped
	RolledBack bool                `json:"-"` // after it failed

	left bool // its run was interrupted; the next one continues
}

// receive follows an event of the run.
func (m *Member) receive(e Event) {
	if e.Stage != "" && e.Stage != m.Stage {
		m.Stage, m.Since = e.Stage, e.Time
	}
	m.Waiting = ""
	switch e.Type {
	case Awaited:
		m.Waiting = e.Message
	case Watched:
		o, w := *e.Owners, &m.Watched
		if m.Stage == stages.SwitchToExternal {
			m.Switch = &o
		}
		w.None, w.One, w.Two, w.Unknown = tenths(w.None+o.None), tenths(w.One+o.One), tenths(w.Two+o.Two), tenths(w.Unknown+o.Unknown)
	case Stopped:
		m.Outcome, m.Findings = e.End, e.Findings
	case Finished:
		m.Outcome = e.End
	}
}

// end is the end of the run.
func (m *Member) end(err error, at time.Time) {
	m.State, m.Since, m.Waiting, m.Err = transition.Done, at, "", err
	if refused, is := errors.AsType[*rollout.Refused](err); is {
		m.Findings = refused.Findings
	}
	if err != nil {
		m.State = transition.Failed
		return
	}
	if m.Outcome != nil && len(m.Outcome.Done) > 0 {
		m.Stage = m.Outcome.Done[len(m.Outcome.Done)-1]
	}
}

// NeedsValues reports whether a run did not begin because it would replace the values of a release,
// which only the operator can name.
func NeedsValues(err error) bool {
	refused := (*rollout.Refused)(nil)
	return errors.As(err, &refused) && refused.OnlyValues()
}

// ExitCode is the highest of those of the clusters, and of what kept others from starting.
func (s Summary) ExitCode() transform.ExitCode {
	code := transform.ExitCode(transform.ExitDone)
	for _, m := range s.Members {
		code = max(code, transform.ExitCode(transform.ExitCodeOf(m.Err)))
	}
	if s.Err != nil {
		code = max(code, transform.ExitCodeOr(s.Err, transform.ExitFailed))
	}
	return code
}
