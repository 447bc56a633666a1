// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/live/preconditions"
	"github.com/rke-lm/rke-lm/transform/live/rights"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/route"
	"github.com/rke-lm/rke-lm/transform/live/verify"
)

// start is what a run begins from.
type start struct {
	plan     *transform.Plan
	names    []string // of the stages to go through, in their order
	seen     *observed
	position string // the last stage that lies behind
}

// blocked says that errors guard a stage, and nothing was written for it.
type blocked struct {
	stage    string
	findings []transform.Finding
}

func (b *blocked) Error() string {
	if b.stage == "" {
		return "the cluster has errors, and the migration would begin on top of them; correct them, or acknowledge them with --accept: " + said(b.findings)
	}
	return "the stage " + b.stage + " is blocked by errors; correct them, or acknowledge them with --accept: " + said(b.findings)
}

// ExitCode is that of errors that were found.
func (b *blocked) ExitCode() exitcode.Code { return exitcode.Found }

// preflight looks whether the run may begin, and changes nothing.
func (r *Run) preflight(ctx context.Context) (*start, error) {
	p, err := r.plan(ctx)
	if err != nil {
		return nil, err
	}
	b := &start{plan: p}
	r.mark = route.Mark(p)
	if b.names, err = r.stages(p); err != nil {
		return nil, err
	}
	if err := r.review(ctx, p); err != nil {
		return b, err
	}
	if b.seen, err = r.observer.Look(ctx); err != nil {
		return b, err
	}
	r.noteForeign(b.seen)
	if b.position, err = r.Planner.Position(p, b.seen); err != nil {
		return b, err
	}
	r.done = upTo(p, b.position)
	if err := r.admit(ctx, b); err != nil {
		return b, err
	}
	if r.verb == rollbackVerb {
		return b, r.Planner.CheckRollback(p, b.names, b.seen)
	}
	return b, r.begin(b)
}

const (
	migrateVerb  = "migrate"
	rollbackVerb = "rollback"
)

// stages are those that the run goes through.
func (r *Run) stages(p *transform.Plan) ([]string, error) {
	if r.verb == rollbackVerb {
		return route.RollbackOrder(p, r.Planner.To)
	}
	if r.Until != "" {
		if _, err := p.Named(r.Until); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, s := range p.Steps {
		names = append(names, s.Stage.Name)
		if s.Stage.Name == r.Until {
			break
		}
	}
	return names, nil
}

// upTo lists the stages up to one.
func upTo(p *transform.Plan, last string) []string {
	names := []string{}
	for _, s := range p.Steps {
		if last == "" {
			break
		}
		names = append(names, s.Stage.Name)
		if s.Stage.Name == last {
			break
		}
	}
	return names
}

// review asks for all rights that the run will need.
func (r *Run) review(ctx context.Context, p *transform.Plan) error {
	when := route.Needs(p)
	if _, err := exec.LookPath("helm"); err != nil {
		when = slices.DeleteFunc(when, func(s string) bool { return s == rights.Helm }) // somebody else runs it
	}
	err := r.Server.Review(ctx, rights.Needed(r.verb, rights.Subject{Distro: r.Object.Distro, Home: r.Object.Home(), Name: r.Object.Name, ID: r.Object.ID, When: when}))
	if err == nil {
		r.Server.Local().Reviewed()
		r.observer.Reviewed()
	}
	return err
}

// admit refuses a cluster whose object is not to be changed. A change that is still
// on its way is waited for where it may be the run's own: some stage is in it.
func (r *Run) admit(ctx context.Context, b *start) error {
	around, err := r.Server.Around(ctx, r.Object)
	if err != nil {
		return err
	}
	around.Snapshot = r.Etcd
	wanted, err := r.wanted()
	if err != nil {
		return err
	}
	seen, err := r.Server.Rollout(ctx, r.Object)
	if err != nil {
		return err
	}
	r.nodes = map[string]string{}
	for _, m := range seen.Machines {
		r.nodes[m.Name] = m.Node
	}
	if b.position == "" && r.verb == migrateVerb {
		wanted.Nodes = r.nodes
		p := rollout.Evaluate(seen, wanted)
		around.Progress = &p
	}
	findings := preconditions.Evaluate(around, r.Accept)
	r.showFindings(findings)
	return preconditions.Check(r.Object.Title(), findings)
}

// begin refuses a migration that is known to get stuck, or that would begin on a
// cluster with errors.
func (r *Run) begin(b *start) error {
	for _, s := range b.plan.Steps {
		if s.State == transform.Blocked && slices.Contains(b.names, s.Stage.Name) {
			return &blocked{s.Stage.Name, stopping(s.Findings)}
		}
	}
	if b.position != "" {
		return nil // it is waited for, once the lock is there
	}
	verdict := verify.Evaluate(b.seen, verify.Choice{Version: r.Planner.Target.Version, Accept: r.Accept})
	r.showFindings(verdict.Findings)
	if open := stopping(verdict.Findings); len(open) > 0 {
		return &blocked{"", open}
	}
	return nil
}

func stopping(all []transform.Finding) []transform.Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f transform.Finding) bool { return !f.Stops() })
}

func (r *Run) showFindings(list []transform.Finding) {
	if len(list) > 0 {
		r.say(report.RunEvent{Type: report.Noted, Message: fmt.Sprintf("findings: %d", len(list)), Findings: report.Findings(list)})
	}
}

// errDeclined ends a run whose stage nobody wanted.
var errDeclined = errors.New("you did not want it")
