// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package migrate runs the stages of a migration on a live cluster, forward and backward.
//
// Invariant: every write is made under the lock, said in the audit log before it is
// made, and guarded by tests of what it changes. Nothing that a later run needs is
// kept outside of the cluster: a run may be killed anywhere, and the same command
// continues.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// run is a run in progress.
type run struct {
	Options        // its Object is as it was read last, and its Planner what the run plans with by now
	title   string // of the cluster, as the run found it
	verb    string

	observer *observe.Observer
	nodes    map[string]string // names of Nodes by those of machines, before the first change
	progress progress
	lock     *lock  // nil before the run holds it
	audit    *audit // nil before the run holds the lock
	mute     bool   // Events cannot be written
	cordon   *cordon
	helm     helm
	canary   *canaryService
	snapshot bool // etcd was snapshotted before the first write

	plan *plan.Plan            // at the beginning; nil if the cluster's object cannot be planned
	todo []string              // the stages to go through, in their order
	seen *observed.Observation // at the beginning

	transition transition.Transition // of the stage in progress
}

// The verbs, as the audit log has them.
const migrateVerb, rollbackVerb = "migrate", "rollback"

// Forward goes through the stages that are left. It fails with *End, which says what
// is done and how to continue.
func Forward(ctx context.Context, o Options) error { return start(ctx, o, migrateVerb) }

// Backward takes stages back, the last one first. It fails as Forward does.
func Backward(ctx context.Context, o Options) error { return start(ctx, o, rollbackVerb) }

// start runs, and once more for each minor towards a later release: every minor is checked
// as a run of its own is.
func start(ctx context.Context, o Options, verb string) error {
	for range plan.MostPlans {
		r, err := newRun(o, verb)
		if err != nil {
			return err
		}
		if err := r.do(ctx); err != nil {
			return err
		}
		if more, err := r.more(ctx, o.Planner.Target); err != nil || !more {
			return err
		}
	}
	return nil
}

// more reports whether the chosen release takes another run.
func (r *run) more(ctx context.Context, chosen transform.Target) (bool, error) {
	if r.back() || r.Until != "" || chosen.Version == "" {
		return false, nil
	}
	r.Planner.Target = chosen
	p, err := r.planNow(ctx)
	return err == nil && p.Left(), err
}

// newRun connects to the cluster.
func newRun(o Options, verb string) (*run, error) {
	client, err := o.Server.Downstream(o.Object.ID)
	if err != nil {
		return nil, err
	}
	r := &run{Options: o, title: o.Object.Title(), verb: verb, observer: &observe.Observer{Client: client}}
	r.cordon, r.helm, r.canary = &cordon{run: r}, helm{r}, &canaryService{run: r}
	return r, nil
}

// do looks whether the run may begin, and then works under the lock.
func (r *run) do(ctx context.Context) error {
	if err := inOrder(ctx, r.planFirst, r.review, r.observe, r.named, r.identifyFirst, r.locate, r.admit, r.allow); err != nil {
		return r.end(causeOf(ctx, err))
	}
	return r.end(r.withLock(ctx, func(ctx context.Context) error {
		return inOrder(ctx, r.resume, r.canary.begin, r.stages, r.helm.forget, r.link, r.canary.prove)
	}))
}

// inOrder does one step after the other, until one fails.
func inOrder(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// forEach does something with one after the other, until it fails for one.
func forEach[T any](ctx context.Context, list []T, do func(context.Context, T) error) error {
	for _, one := range list {
		if err := do(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// back reports whether stages are undone.
func (r *run) back() bool { return r.verb == rollbackVerb }

// stages goes through stages, each planned from the object as it is then.
func (r *run) stages(ctx context.Context) error {
	for _, name := range r.todo {
		if err := r.stage(ctx, name); err != nil {
			return err
		}
		if r.back() {
			r.progress.done = slices.DeleteFunc(r.progress.done, func(s string) bool { return s == name })
		} else if !slices.Contains(r.progress.done, name) { // an earlier run may have done it
			r.progress.done = append(r.progress.done, name)
		}
	}
	return nil
}

// Options are what a user chose for a run over one cluster. A run has a copy of its own.
type Options struct {
	Server  *rancher.Server
	Object  rancher.Object // of the cluster
	Planner transition.Planner

	Until        string // the last stage of a migration; "" for all
	EtcdSnapshot bool   // take snapshots of etcd
	// CanaryService proves at the end of a migration that the cloud controllers work.
	CanaryService bool

	Timeout  time.Duration // of each wait
	Interval time.Duration // between two observations of what is waited for

	AuditLog string // a file; "" for none
	User     User
	// Given reads the arguments that a kube-controller-manager may have that is no pod;
	// nil where it is one.
	Given func(context.Context, []observed.Manager) ([]check.Given, error)
	// Restart restarts the kubelet of a machine; nil where a person does it.
	Restart func(context.Context, transition.KubeletRestart) error
	// Confirm asks whether to continue with a stage; nil for yes.
	Confirm func(ctx context.Context, stage string) (bool, error)
	// Permit fails when the run must not write any more; nil where it always may.
	Permit func() error
	// OnEvent is called with each event, from one goroutine at a time; nil for none.
	OnEvent func(Event)
	// Continue and Revert are the command lines that continue with the run, and take the
	// stages back.
	Continue, Revert string
}

// User is who runs the tool, and where.
type User struct {
	Name string `json:"user"`
	Host string `json:"host"`
}

// progress is how far a run has come.
type progress struct {
	done  []string        // the stages that are done, in their order
	stage string          // the one in work
	edit  transition.Edit // what became of its edit
	wrote bool            // the run has written something
}

// enter begins with a stage.
func (p *progress) enter(stage string) { p.stage, p.edit = stage, transition.NotWritten }

// last is the last stage that is done; "" for none.
func (p *progress) last() string {
	if len(p.done) == 0 {
		return ""
	}
	return p.done[len(p.done)-1]
}

// upTo lists the stages of a plan up to one; none for "".
func upTo(p *plan.Plan, last string) []string {
	names := lists.Map(p.Steps, func(s plan.Step) string { return s.Stage.Name })
	return names[:slices.Index(names, last)+1]
}

// withLock works under the lock, and releases it however the work ends.
func (r *run) withLock(ctx context.Context, work func(context.Context) error) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := newLock(r.Server.Local(), r.Object, fmt.Sprintf("%s/%d/%s", r.User.Host, os.Getpid(), uuid.NewString()))
	r.lock = l
	if err := l.acquire(ctx, r.note); err != nil {
		return causeOf(ctx, err)
	}
	l.renew(ctx, func(err error) { cancel(err) })
	defer func() { err = errors.Join(err, cleanUp(ctx, l.release)) }()
	r.emit(Event{Type: Began, Message: "the run " + l.identity + " holds the lock"})
	return r.withAudit(ctx, work)
}

// withAudit works with the audit log, and uncordons its Nodes however the work ends.
func (r *run) withAudit(ctx context.Context, work func(context.Context) error) (err error) {
	var open []Entry
	if r.audit, open, err = openAudit(r.AuditLog, r.Object.UID); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.audit.close()) }()
	if err := r.concludeEarlier(ctx, open); err != nil {
		return err
	}
	defer func() {
		if held := (*Locked)(nil); r.cordon.mayHold && !errors.As(err, &held) { // else the other run releases them
			if failed := cleanUp(ctx, r.cordon.uncordonNodes); failed != nil {
				err = errors.Join(err, fmt.Errorf("nodes that were cordoned for the switch stay cordoned until the next run uncordons them: %w", failed))
			}
		}
	}()
	return causeOf(ctx, transform.Guard(r.title, func() error { return work(ctx) }))
}

var errInterrupted = errors.New("interrupted")

// causeOf returns why a run was stopped, where its work failed for that.
func causeOf(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case cause == nil || !errors.Is(err, context.Canceled):
		return err
	case errors.Is(cause, context.Canceled):
		return errInterrupted
	}
	return cause
}

// cleanUp does what is left to do when a run ends, whatever ended it.
func cleanUp(ctx context.Context, do func(context.Context) error) error {
	own, end := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer end()
	return do(own)
}
