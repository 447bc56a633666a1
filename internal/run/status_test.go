// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
)

func TestALookWithoutAnEndIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forever := make(chan struct{})
		defer close(forever)
		s := withTimeout(t.Context(), 10*time.Millisecond, "orchard", func(context.Context) Inspected {
			<-forever
			return Inspected{}
		})
		assert.True(t, s.Code == transform.ExitFailed && len(s.Clusters) == 1 && s.Clusters[0].Name == "orchard" && strings.Contains(s.Clusters[0].Problem, "; check the API server, or the program for the credentials"), s)
		s = withTimeout(t.Context(), 10*time.Millisecond, "orchard", func(ctx context.Context) Inspected {
			<-ctx.Done()
			return lineOf(report.Status{Name: "orchard", Problem: "its own"}, transform.ExitRefused)
		})
		assert.True(t, s.Code == transform.ExitRefused && s.Clusters[0].Problem == "its own", s)
	})
}
