// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// Fleet is a migration of many clusters. Each has a run of its own, the same as that of
// one cluster, and [transition.Policy] decides which of them starts.
type Fleet struct {
	Waves  []transition.Wave
	Limits transition.Limits
	// Refused are the clusters that cannot be migrated, and why. They count as failures
	// before the first run starts.
	Refused map[string]error
	// Open returns the run over a cluster, just before it starts.
	Open func(cluster string) (Options, error)
	// Agree asks whether to start a wave; nil for yes. No run is in progress meanwhile.
	Agree func(context.Context, transition.Wave) (bool, error)
	// OnChange is called with a cluster that has changed and the event that changed it, of
	// which only the time is set if its run starts or ends; nil for none. Calls do not overlap.
	OnChange func(Member, Event)

	// Resume is what a run needs that lasts for days, and is resumed; nil for one that ends
	// when nothing is in progress.
	Resume *Resumable
}

// Summary is what came of a migration of many clusters.
type Summary struct {
	Members []Member // in the order of the waves
	Stopped bool     // failures kept clusters from starting
	Err     error    // why clusters did not start: an interrupt, or a wave that was declined
}

// news is what a run sends: an event, a change of its state, or its end.
type news struct {
	cluster string
	event   Event
	state   transition.State // that it has come to; "" for none
	over    bool
	err     error
}

// fleet is a migration of many clusters that is in progress.
type fleet struct {
	*Fleet
	members []*Member
	agreed  map[int]bool // waves
	news    chan news
	err     error
}

// Run migrates the clusters and returns when no run is in progress and none is to start.
// After too many failures, an interrupt or a wave that was declined no other run starts.
func (f *Fleet) Run(ctx context.Context) Summary {
	r := &fleet{Fleet: f, agreed: map[int]bool{}, news: make(chan news)}
	for _, w := range f.Waves {
		for _, c := range w.Clusters {
			r.members = append(r.members, f.member(c, w.Name))
		}
	}
	for _, m := range r.members {
		if err := f.Refused[m.Cluster]; err != nil {
			r.end(m, err)
		}
		if m.State.Busy() { // it was in progress, and continues whatever may start now
			go r.run(ctx, m.Cluster, m.State)
		}
	}
	for {
		turn := r.next()
		r.start(ctx, turn)
		startsLater := r.Resume != nil && ctx.Err() == nil && turn.Wait != nil
		if !r.running() && !startsLater {
			return Summary{Members: r.list(), Stopped: turn.Stopped, Err: r.err}
		}
		for !r.wait(ctx, turn) {
			continue // it changes nothing of what is next
		}
	}
}

// start starts the runs of a turn, if the wave may start.
func (r *fleet) start(ctx context.Context, t transition.Turn) {
	if len(t.Start) == 0 || !r.mayStart(ctx, t.Wave) {
		return
	}
	for _, cluster := range t.Start {
		m := r.member(cluster)
		m.State, m.Since, m.Waiting = transition.Running, time.Now().UTC(), ""
		r.notify(m, Event{Time: m.Since, Cluster: cluster})
		go r.run(ctx, cluster, transition.Running)
	}
}

// mayStart asks once for each wave.
func (r *fleet) mayStart(ctx context.Context, wave int) bool {
	if r.err == nil && ctx.Err() != nil {
		r.err = causeOf(ctx, context.Canceled)
	}
	if r.err != nil {
		return false
	}
	if r.Agree == nil || r.agreed[wave] {
		return true
	}
	yes, err := r.Agree(ctx, r.Waves[wave])
	switch {
	case err != nil:
		r.err = causeOf(ctx, err)
	case !yes:
		r.err = errDeclined
	}
	r.agreed[wave] = true
	return r.err == nil
}

// run migrates one cluster, or continues to roll it back.
func (r *fleet) run(ctx context.Context, cluster string, from transition.State) {
	var end news
	err := transform.Guard(cluster, func() (err error) {
		if r.Resume != nil {
			end.state, err = r.resumed(ctx, cluster, from)
			return err
		}
		o, err := r.open(cluster)
		if err != nil {
			return err
		}
		return Forward(ctx, o)
	})
	end.cluster, end.over, end.err = cluster, true, err
	r.news <- end
}

// open opens the run over a cluster.
func (r *fleet) open(cluster string) (Options, error) {
	o, err := r.Open(cluster)
	o.CanaryService = o.CanaryService && slices.Contains(r.Waves[0].Clusters, cluster) // which prove themselves to the next wave
	o.OnEvent = func(e Event) { r.news <- news{cluster: cluster, event: e} }
	return o, err
}

// receive takes what a run sent, and reports whether the cluster has come to another state.
func (r *fleet) receive(n news) bool {
	m := r.member(n.cluster)
	switch {
	case n.state != "":
		r.change(m, n)
		return true
	case n.over:
		r.end(m, n.err)
		return true
	}
	m.receive(n.event)
	r.notify(m, n.event)
	return false
}

func (r *fleet) end(m *Member, err error) {
	m.end(err, time.Now().UTC())
	if r.Resume != nil && NeedsValues(err) && m.Stage == "" {
		m.State = transition.Skipped // no stage has begun, and only the operator has what it needs
	}
	r.notify(m, Event{Time: m.Since, Cluster: m.Cluster})
}

func (r *fleet) notify(m *Member, e Event) {
	if r.OnChange != nil {
		r.OnChange(*m, e)
	}
}

func (r *fleet) member(cluster string) *Member {
	return r.members[slices.IndexFunc(r.members, func(m *Member) bool { return m.Cluster == cluster })]
}

// list is how far all clusters are.
func (r *fleet) list() []Member { return lists.Map(r.members, func(m *Member) Member { return *m }) }

func (r *fleet) running() bool {
	return slices.ContainsFunc(r.members, func(m *Member) bool { return m.State.Busy() && !m.left })
}

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
