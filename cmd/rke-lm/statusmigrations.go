// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/controller"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/report"
)

// migrations are the LeaderMigrations of a Rancher.
type migrations struct {
	list []report.MigrationStatus
	of   map[string][]string // their names, by the clusters
}

// migrations reads the LeaderMigrations of a Rancher. Without them the clusters are shown all the same.
func (s *statusOptions) migrations(ctx context.Context, t target) (found migrations) {
	list, err := controller.List(ctx, t.server.Local())
	switch {
	case kube.HasStatus(err, http.StatusForbidden):
		fmt.Fprintf(s.err, "note: %s: LeaderMigrations are not shown, because you do not have permission to list leadermigrations.rke-lm.io\n", t.name)
	case err != nil:
		fmt.Fprintf(s.err, "note: %s: LeaderMigrations are not shown: %v\n", t.name, err)
	}
	found.of = map[string][]string{}
	for _, lm := range list {
		one := migrationStatus(lm)
		found.list = append(found.list, one)
		for _, c := range lm.Status.Clusters {
			found.of[c.Name] = append(found.of[c.Name], one.Name)
		}
	}
	return found
}

// migrationStatus is a LeaderMigration in a few words: with the condition that is true and describes it best.
func migrationStatus(lm v1alpha1.LeaderMigration) report.MigrationStatus {
	s := report.MigrationStatus{Name: lm.Namespace + "/" + lm.Name, Wave: lm.Status.Wave, Counts: lm.Status.Counts}
	for _, kind := range []string{v1alpha1.Complete, v1alpha1.Failed, v1alpha1.Waiting} {
		if meta.IsStatusConditionTrue(lm.Status.Conditions, kind) {
			c := meta.FindStatusCondition(lm.Status.Conditions, kind)
			s.Condition, s.Reason, s.Message = kind, c.Reason, c.Message
			return s
		}
	}
	if c := meta.FindStatusCondition(lm.Status.Conditions, v1alpha1.Complete); c != nil {
		s.Condition, s.Message = "Progressing", c.Message
	}
	return s
}
