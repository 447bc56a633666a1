// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/google/uuid"

	"github.com/rke-lm/rke-lm/transform"
)

// withLock works under the lock, and releases it however the work ends.
func (r *run) withLock(ctx context.Context, work func(context.Context) error) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := newLock(r.Server.Local(), r.Object, fmt.Sprintf("%s/%d/%s", r.User.Host, os.Getpid(), uuid.NewString()))
	r.writer.lock = l
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
	if r.writer.audit, open, err = openAudit(r.AuditLog, r.Object.UID); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.writer.audit.close()) }()
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
	return causeOf(ctx, transform.Guard(r.Object.Title(), func() error { return work(ctx) }))
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
