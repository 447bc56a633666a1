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
		s := bounded(t.Context(), 10*time.Millisecond, "orchard", func(context.Context) seen {
			<-forever
			return seen{}
		})
		assert.True(t, s.code == transform.ExitFailed && len(s.list) == 1 && s.list[0].Name == "orchard" && strings.Contains(s.list[0].Problem, "; check the API server, or the program for the credentials"), s)
		s = bounded(t.Context(), 10*time.Millisecond, "orchard", func(ctx context.Context) seen {
			<-ctx.Done()
			return seen{list: []report.Status{{Name: "orchard", Problem: "its own"}}, code: transform.ExitRefused}
		})
		assert.True(t, s.code == transform.ExitRefused && s.list[0].Problem == "its own", s)
	})
}
