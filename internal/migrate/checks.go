// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// blockedBy reports that errors guard a stage, and nothing was written for it; "" for the whole migration. rules are
// those that the findings may be of.
func blockedBy(stage string, findings []transform.Finding, rules []transform.Rule) error {
	what := "the cluster has errors before the migration"
	if stage != "" {
		what = "the stage " + stage + " is blocked by errors"
	}
	return &endedBy{transform.NewError(transform.ExitFound, what+"; "+transform.Unblock(findings, rules)+": "+firstOf(findings)), findings}
}

// planFirst plans the cluster, and the stages to go through.
func (r *run) planFirst(ctx context.Context) error {
	p, err := r.planNow(ctx)
	if err != nil {
		return err
	}
	t := &r.Planner.Target // towards a later release, each minor is a run of its own
	t.Version, t.Upgrade = p.Target.Version, p.Target.Upgrade
	if !r.back() && p.Target.Situation == transform.Broken {
		// Its machines wait for a change that lets them start: no check of a run would pass before it.
		return transform.NotMigratable(p.Start[0].Root(), "the provider aws keeps the components of "+p.Cluster.Version+" from starting, so the cluster has no state that a run could check",
			"write the stages one after another with rke-lm apply --cluster, and wait for the machines in between; see docs/past-1.26.md")
	}
	r.cordon.mark = stages.Mark(p.Cluster.Name)
	if r.todo, err = r.names(p); err == nil {
		r.plan = p
	}
	return err
}

func (r *run) observe(ctx context.Context) (err error) {
	r.seen, err = r.observer.Observe(ctx)
	return err
}

// named plans again where Nodes show by which names their machines register without a cloud provider, or managers the
// timings of their leases.
func (r *run) named(ctx context.Context) error {
	chosen := &r.Planner.Target
	seen, err := transition.WithTimings(r.plan, *chosen, r.seen)
	if err != nil {
		return err
	}
	if !r.back() {
		seen.HostNames = r.seen.HostNames(chosen.HostNames)
	}
	again := seen.ShortLeases != chosen.ShortLeases || r.back() && seen.CloudLease != chosen.CloudLease || !maps.Equal(seen.HostNames, chosen.HostNames)
	if *chosen = seen; !again {
		return nil
	}
	return r.planFirst(ctx)
}

// identifyFirst leaves an upgrade to the next run where Nodes have no provider IDs yet: a run that was killed after the last edit of the
// migration has not come to that stage, and no plan of an upgrade has it.
func (r *run) identifyFirst(ctx context.Context) error {
	target := &r.Planner.Target
	if r.back() || r.Until != "" || !target.Upgrades() || transition.Identified(r.seen.Nodes) {
		return nil
	}
	chosen, none := *target, *target
	none.Version, none.Upgrade = "", ""
	for _, *target = range []transform.Target{none, chosen} {
		if err := r.planFirst(ctx); err != nil {
			return err
		}
		if slices.Contains(r.todo, stages.SetProviderIDs) {
			return r.review(ctx)
		}
	}
	return nil
}

// locate finds the stages that are done.
func (r *run) locate(context.Context) error {
	r.cordon.noteForeign(r.seen)
	last, err := r.Planner.Position(r.plan, r.seen)
	r.progress.done = upTo(r.plan, last)
	return err
}

// names are the stages that the run goes through.
func (r *run) names(p *plan.Plan) ([]string, error) {
	if r.back() {
		return transition.RollbackOrder(p, r.Planner.To)
	}
	if r.Until != "" {
		if _, err := p.Named(r.Until); err != nil {
			return nil, err
		}
	}
	return upTo(p, cmp.Or(r.Until, p.Steps[len(p.Steps)-1].Stage.Name)), nil
}

// review checks all permissions that the run will need.
func (r *run) review(ctx context.Context) error {
	of := r.Object.Subject()
	of.Needs = transition.Needs(r.plan)
	if _, err := exec.LookPath("helm"); err == nil { // without it the user runs it
		of.When = append(of.When, action.WithHelm)
	}
	if r.Restart != nil {
		of.When = append(of.When, action.WithRestartCommand)
	}
	if r.CanaryService {
		of.When = append(of.When, rollout.WithCanaryService)
	}
	if err := r.Server.Review(ctx, rollout.Permissions(r.verb, of)); err != nil {
		return err
	}
	missing, err := r.Server.Rights(ctx, rollout.WidePermissions(r.verb, of))
	if err != nil {
		return err
	}
	for _, m := range missing {
		r.observer.KubeSystemAlone(m.Resource)
	}
	r.Server.Local().Reviewed()
	r.observer.Reviewed()
	return nil
}

// admit refuses a cluster whose object is not to be changed. It waits for a
// change in progress that may be the run's own: some stage is in it.
func (r *run) admit(ctx context.Context) error {
	around, err := r.Server.Around(ctx, r.Object)
	if err != nil {
		return err
	}
	around.Snapshot = r.EtcdSnapshot
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
	if r.progress.last() == "" && !r.back() {
		wanted.Nodes = r.nodes
		around.Progress = new(rollout.Evaluate(seen, wanted))
	}
	names := slices.DeleteFunc(slices.Clone(r.todo), func(s string) bool { return slices.Contains(r.Planner.Target.ManualDone, s) })
	upgrades, err := r.Planner.Upgrades(r.plan, names, r.back(), r.seen)
	if err != nil {
		return err
	}
	if around.Release, err = r.helm.replaced(ctx, upgrades); err != nil {
		return err
	}
	findings := rollout.Preconditions(around, r.Planner.Target.Accept)
	r.noteFindings(findings)
	return rollout.Refuse(r.Object.Title(), findings)
}

// allow refuses a rollback out of order, and a migration that is known to get stuck, or that would
// begin on a cluster with errors.
func (r *run) allow(context.Context) error {
	if r.back() {
		return r.Planner.CheckRollback(r.plan, r.todo, r.seen)
	}
	for _, s := range r.plan.Steps {
		if s.State == plan.Blocked && slices.Contains(r.todo, s.Stage.Name) {
			return blockedBy(s.Stage.Name, transform.Stopping(s.Findings), r.Planner.Format.Rules)
		}
	}
	if r.progress.last() != "" {
		return nil // it is waited for, once the lock is there
	}
	verdict := check.Evaluate(r.seen, check.Choice{Check: stages.After("", r.plan.Target), Version: r.Planner.Target.Version, Accept: r.Planner.Target.Accept})
	r.noteFindings(verdict.Findings)
	if open := transform.Stopping(verdict.Findings); len(open) > 0 {
		return blockedBy("", open, check.Rules())
	}
	return nil
}

// canaryService proves, with a Service of its own, that the cloud controllers of a cluster
// do their work. It is deleted however the run ends, or by the next run.
type canaryService struct {
	*run
	before  *check.Baseline
	made    bool   // there may be something to delete
	address string // of the load balancer
}

func (c *canaryService) namespace() Ref { return c.own("Namespace", "", check.CanaryName) }

func (c *canaryService) service() Ref { return c.own("Service", check.CanaryName, check.CanaryName) }

// begin deletes what a run that was killed has left, and keeps what is compared at the end.
func (c *canaryService) begin(ctx context.Context) error {
	if err := c.sweep(ctx); err != nil {
		c.note(err.Error())
	}
	if !c.CanaryService {
		return nil
	}
	events, err := c.observer.Warnings(ctx)
	if err != nil {
		return err
	}
	c.before = check.NewBaseline(c.seen.Nodes, events)
	return nil
}

// sweep deletes the namespace of an earlier run. A user who has no permission to see it
// has made none.
func (c *canaryService) sweep(ctx context.Context) error {
	raw, err := c.read(ctx, c.namespace())
	if err != nil || !check.IsCanary(raw) {
		return nil
	}
	c.note("an earlier run was killed during its canary check; deleting the namespace " + check.CanaryName)
	c.made = true
	return c.left(c.delete(ctx))
}

// read reads an object; none where it does not exist.
func (c *canaryService) read(ctx context.Context, o Ref) ([]byte, error) {
	a, err := c.request(ctx, o, kube.Request{Method: http.MethodGet, Optional: true})
	return kube.Found(a.Body, err)
}

// prove makes the Service, waits for its address, deletes it, and compares.
func (c *canaryService) prove(ctx context.Context) (err error) {
	if !c.CanaryService {
		return nil
	}
	c.progress.enter("") // all stages are done
	defer func() {
		if c.made {
			err = errors.Join(err, c.left(cleanUp(ctx, func(ctx context.Context) error { return forEach(ctx, c.objects(), c.drop) })))
		}
	}()
	if err := inOrder(ctx, c.create, c.awaitAddress, c.delete, c.compare); err != nil {
		return err
	}
	c.emit(Event{Type: Checked, Message: "the canary Service got the address " + c.address + " and was deleted; no provider ID changed, and the cloud controllers reported no errors"})
	return nil
}

// create makes the namespace and the Service in it.
func (c *canaryService) create(ctx context.Context) error {
	raw, err := c.read(ctx, c.namespace())
	if err != nil {
		return err
	}
	if raw != nil && !check.IsCanary(raw) {
		return check.ErrForeignCanary
	}
	c.made = true
	if err := c.applyObject(ctx, c.namespace(), check.CanaryNamespace()); err != nil {
		return err
	}
	return c.applyObject(ctx, c.service(), check.CanaryService())
}

// awaitAddress waits until the Service has the address of a load balancer.
func (c *canaryService) awaitAddress(ctx context.Context) error {
	return c.await(ctx, func(ctx context.Context) (condition, error) {
		raw, err := c.read(ctx, c.service())
		if err != nil {
			return condition{}, err
		}
		if raw == nil {
			return condition{}, errors.New("the canary Service was deleted by another user; run the command again")
		}
		c.address, err = check.CanaryAddress(raw)
		return condition{done: c.address != "", waiting: "the canary Service has no load balancer yet; to see why: " + action.Command("kubectl -n %s describe service %s", check.CanaryName, check.CanaryName)}, err
	})
}

// delete deletes the Service, and then its namespace, and waits for each until it is deleted:
// the Service stays until its load balancer is.
func (c *canaryService) delete(ctx context.Context) error {
	err := forEach(ctx, c.objects(), func(ctx context.Context, o Ref) error {
		if err := c.drop(ctx, o); err != nil {
			return err
		}
		return c.await(ctx, func(ctx context.Context) (condition, error) {
			raw, err := c.read(ctx, o)
			return condition{done: raw == nil, waiting: "the " + o.String() + " is not deleted yet"}, err
		})
	})
	c.made = c.made && err != nil
	return err
}

// objects are what is deleted, in this order.
func (c *canaryService) objects() []Ref { return []Ref{c.service(), c.namespace()} }

// left reports what it means that they could not be deleted.
func (c *canaryService) left(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the namespace %s of the canary check is not deleted yet; the next run deletes it: %w", check.CanaryName, err)
}

// compare fails where something has happened since the beginning that must not.
func (c *canaryService) compare(ctx context.Context) error {
	seen, err := c.observer.Observe(ctx)
	if err != nil {
		return err
	}
	events, err := c.observer.Warnings(ctx)
	if err != nil {
		return err
	}
	if problems := c.before.Problems(seen.Nodes, events); len(problems) > 0 {
		return transform.NewError(transform.ExitFailed, "the canary check failed: "+strings.Join(problems, "; ")+"; check the log of the cloud-controller-manager")
	}
	return nil
}
