// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// A helm that is killed leaves a record that keeps every other one from beginning,
// and so does one that still runs; a record does not show which, nor whose it
// is, and its age shows nothing: a helm that waits may take as long as it likes. So a
// run writes into its lock, before it starts helm, which record that helm will make.
// The run that takes the lock over from one that died finds it there, and that record alone
// is deleted: its helm ended with its run. Every other one stops the run.

// helmAnnotation names, on the lock, the record of the helm that was started last
// and is not known to have ended.
const helmAnnotation = "rke-lm.io/helm"

// setHelm says on the lock which record a helm is about to make; "" for none.
func (l *lock) setHelm(ctx context.Context, record string) error {
	set := func() error { l.helm = record; return nil }
	if err := l.locked(ctx, set); err != nil {
		return err
	}
	return l.confirm(ctx)
}

// attempt runs helm between two marks. The mark stays where helm was stopped in the
// middle.
func (h helm) attempt(ctx context.Context, c helmCall, run func(context.Context) error) error {
	if err := h.writer.lock.setHelm(ctx, c.release.Namespace+"/"+c.record); err != nil {
		return err
	}
	failed := run(ctx)
	return errors.Join(failed, cleanUp(ctx, func(ctx context.Context) error {
		if failed != nil && h.leftRecord(ctx, c, failed) {
			return nil
		}
		return h.writer.lock.setHelm(ctx, "")
	}))
}

// leftRecord reports whether a helm that failed left its record unfinished. Where that
// cannot be seen, it may have.
func (h helm) leftRecord(ctx context.Context, c helmCall, failed error) bool {
	faster := []string{"another operation", "already exists", "still in use"} // another helm was, and the record is its
	if slices.ContainsFunc(faster, func(refusal string) bool { return strings.Contains(failed.Error(), refusal) }) {
		return false
	}
	records, err := h.cluster.records(ctx, c.release.Namespace, c.release.Name)
	return err != nil || slices.ContainsFunc(unfinished(records), func(k record) bool { return k.Name == c.record })
}

// onlyOwn refuses unless all records are of the helm that this run, or one that
// died, has started. Where helm does not end with its run, it gets time to.
func (h helm) onlyOwn(ctx context.Context, records []record) error {
	for _, k := range records {
		if !h.started(k) {
			return busy(k)
		}
	}
	switch {
	case len(records) == 0 && h.writer.lock.helm != "":
		return h.writer.lock.setHelm(ctx, "") // it came to its end
	case len(records) == 0 || outlives == 0:
		return nil
	}
	since, k := time.Now(), records[0]
	return h.await(ctx, func(ctx context.Context) (condition, error) {
		now, err := h.cluster.records(ctx, k.Namespace, k.Release)
		over := len(unfinished(now)) == 0 || time.Since(since) >= outlives
		return condition{done: over, waiting: "the helm of a run that died may still be running on the release " + k.Release}, err
	})
}

func (h helm) started(k record) bool { return h.writer.lock.helm == k.Namespace+"/"+k.Name }

// forget unmarks a helm that came to its end when its run had died. Another one that makes a record of that name is not the run's.
func (h helm) forget(ctx context.Context) error {
	namespace, name, marked := strings.Cut(h.writer.lock.helm, "/")
	if !marked {
		return nil
	}
	release := strings.TrimPrefix(name[:max(0, strings.LastIndex(name, ".v"))], recordPrefix)
	records, err := h.cluster.records(ctx, namespace, release)
	if err != nil || slices.ContainsFunc(unfinished(records), h.started) {
		return nil // it may still run
	}
	return h.writer.lock.setHelm(ctx, "")
}

// dropUnfinished deletes the record of a helm that died with its run, and returns
// the other ones.
func (h helm) dropUnfinished(ctx context.Context, namespace, release string) ([]record, error) {
	records, err := h.cluster.records(ctx, namespace, release)
	if err != nil {
		return nil, err
	}
	if err := h.onlyOwn(ctx, unfinished(records)); err != nil {
		return nil, err
	}
	// It may have come to its end meanwhile.
	if records, err = h.cluster.records(ctx, namespace, release); err != nil {
		return nil, err
	}
	for _, k := range unfinished(records) {
		if !h.started(k) {
			continue
		}
		if err := h.writer.drop(ctx, h.cluster.own("Secret", namespace, k.Name)); err != nil {
			return nil, err
		}
		records = slices.DeleteFunc(records, func(other record) bool { return other == k })
	}
	return records, nil
}
