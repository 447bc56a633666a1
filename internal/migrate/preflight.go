// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"context"
	"maps"
	"os/exec"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/live/preconditions"
	"github.com/rke-lm/rke-lm/transform/live/rights"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/route"
	"github.com/rke-lm/rke-lm/transform/live/verify"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// beginning is what a run begins from.
type beginning struct {
	plan     *transform.Plan
	stages   []string // to go through, in their order
	seen     *observed
	position string // the last stage that is done
}

// blocked means that errors guard a stage, and nothing was written for it.
type blocked struct {
	stage    string
	findings []transform.Finding
	rules    []transform.Rule // that they may be of
}

func (b *blocked) Error() string {
	advice := transform.Unblock(b.findings, b.rules) + ": " + firstOf(b.findings)
	if b.stage == "" {
		return "the cluster has errors before the migration; " + advice
	}
	return "the stage " + b.stage + " is blocked by errors; " + advice
}

// ExitCode is that of errors that were found.
func (b *blocked) ExitCode() exitcode.Code { return exitcode.Found }

// preflight looks whether the run may begin, and changes nothing.
func (r *run) preflight(ctx context.Context) (*beginning, error) {
	p, err := r.cluster.plan(ctx)
	if err != nil {
		return nil, err
	}
	r.keepStep(p)
	b := &beginning{plan: p}
	if !r.back() && p.Target.Situation == transform.Broken {
		return nil, hanging(p)
	}
	r.cordon.mark = route.Mark(p)
	if b.stages, err = r.names(p); err != nil {
		return nil, err
	}
	if err := r.review(ctx, p); err != nil {
		return b, err
	}
	if b.seen, err = r.cluster.observer.Look(ctx); err != nil {
		return b, err
	}
	if err := r.named(ctx, b); err != nil {
		return b, err
	}
	r.cordon.noteForeign(b.seen)
	if b.position, err = r.Planner.Position(p, b.seen); err != nil {
		return b, err
	}
	r.progress.done = upTo(p, b.position)
	if err := r.admit(ctx, b); err != nil {
		return b, err
	}
	if r.back() {
		return b, r.Planner.CheckRollback(p, b.stages, b.seen)
	}
	return b, r.begin(b)
}

// named plans again where Nodes show by which names their machines register without a cloud provider.
func (r *run) named(ctx context.Context, b *beginning) (err error) {
	known := b.seen.HostNames(r.Planner.Target.HostNames)
	if r.back() || maps.Equal(known, r.Planner.Target.HostNames) {
		return nil
	}
	r.Planner.Target.HostNames = known
	r.keepStep(b.plan)
	if b.plan, err = r.cluster.plan(ctx); err == nil {
		b.stages, err = r.names(b.plan)
	}
	return err
}

// names are the stages that the run goes through.
func (r *run) names(p *transform.Plan) ([]string, error) {
	if r.back() {
		return route.RollbackOrder(p, r.Planner.To)
	}
	if r.Until != "" {
		if _, err := p.Named(r.Until); err != nil {
			return nil, err
		}
	}
	return upTo(p, cmp.Or(r.Until, p.Steps[len(p.Steps)-1].Stage.Name)), nil
}

// review checks all permissions that the run will need.
func (r *run) review(ctx context.Context, p *transform.Plan) error {
	when := route.Needs(p)
	if _, err := exec.LookPath("helm"); err != nil {
		when = slices.DeleteFunc(when, func(s string) bool { return s == rights.Helm }) // the user runs it
	}
	if r.Restart != nil && slices.Contains(when, rights.ProviderIDs) {
		when = append(when, rights.Registration)
	}
	if r.CanaryService {
		when = append(when, rights.CanaryService)
	}
	of := r.cluster.object.Subject()
	of.When = when
	if err := r.cluster.server.Review(ctx, rights.Needed(r.verb, of)); err != nil {
		return err
	}
	missing, err := r.cluster.server.Rights(ctx, rights.Wide(r.verb, of))
	if err != nil {
		return err
	}
	for _, m := range missing {
		r.cluster.observer.KubeSystemAlone(m.Resource)
	}
	r.cluster.server.Local().Reviewed()
	r.cluster.observer.Reviewed()
	return nil
}

// admit refuses a cluster whose object is not to be changed. It waits for a
// change in progress that may be the run's own: some stage is in it.
func (r *run) admit(ctx context.Context, b *beginning) error {
	around, err := r.cluster.server.Around(ctx, r.cluster.object)
	if err != nil {
		return err
	}
	around.Snapshot = r.EtcdSnapshot
	wanted, err := r.cluster.wanted()
	if err != nil {
		return err
	}
	seen, err := r.cluster.server.Rollout(ctx, r.cluster.object)
	if err != nil {
		return err
	}
	r.cluster.nodes = map[string]string{}
	for _, m := range seen.Machines {
		r.cluster.nodes[m.Name] = m.Node
	}
	if b.position == "" && !r.back() {
		wanted.Nodes = r.cluster.nodes
		p := rollout.Evaluate(seen, wanted)
		around.Progress = &p
	}
	if around.Release, err = r.upgraded(ctx, b); err != nil {
		return err
	}
	findings := preconditions.Evaluate(around, r.Accept)
	r.events.noteFindings(findings)
	return preconditions.Check(r.cluster.object.Title(), findings)
}

// upgraded returns the release that the run will upgrade with helm, with what it would lose; nil where
// there is none.
func (r *run) upgraded(ctx context.Context, b *beginning) (*preconditions.Release, error) {
	names := slices.DeleteFunc(slices.Clone(b.stages), func(s string) bool { return slices.Contains(r.Planner.Target.ManualDone, s) })
	upgrades, err := r.Planner.Upgrades(b.plan, names, r.back(), b.seen)
	if err != nil {
		return nil, err
	}
	return r.helm.replaced(ctx, upgrades)
}

// hanging refuses a cluster whose machines wait for a change that lets them start: no check
// of a run would pass before it.
func hanging(p *transform.Plan) error {
	return transform.NotMigratable(p.Start[0].Root(), "the provider aws keeps the components of "+p.Cluster.Version+" from starting, so the cluster has no state that a run could check",
		"write the stages one after another with rke-lm apply --cluster, and wait for the machines in between; see docs/past-1.26.md")
}

// begin refuses a migration that is known to get stuck, or that would begin on a
// cluster with errors.
func (r *run) begin(b *beginning) error {
	for _, s := range b.plan.Steps {
		if s.State == transform.Blocked && slices.Contains(b.stages, s.Stage.Name) {
			return &blocked{s.Stage.Name, transform.Stopping(s.Findings), r.Planner.Distro.Rules}
		}
	}
	if b.position != "" {
		return nil // it is waited for, once the lock is there
	}
	verdict := verify.Evaluate(b.seen, verify.Choice{Check: stages.After("", b.plan.Target), Version: r.Planner.Target.Version, Accept: r.Accept})
	r.events.noteFindings(verdict.Findings)
	if open := transform.Stopping(verdict.Findings); len(open) > 0 {
		return &blocked{"", open, verify.Rules()}
	}
	return nil
}
