// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/transition"
)

func TestOnlyAYesContinues(t *testing.T) {
	in := strings.NewReader("y\n YES \n\nyes please\nno\ny")
	var got []bool
	_, shown, _ := shownBy(func(c *Collector) {
		r := NewRuns(c, in, false)
		for range 6 {
			got = append(got, assert.Value(r.Ask(t.Context(), "install-ccm"))(t))
		}
	})
	assert.EqualSlices(t, got, []bool{true, true, false, false, false, false}) // the last one is no whole line
	assert.True(t, strings.HasPrefix(shown, "\nContinue with install-ccm? [y/N] "), shown)
}

func TestAUserWhoEndsTheRunNeedNotAnswer(t *testing.T) {
	in, answer := io.Pipe()
	defer answer.Close()
	ctx, end := context.WithCancelCause(t.Context())
	end(errors.New("interrupted"))
	shownBy(func(c *Collector) {
		yes, err := NewRuns(c, in, true).Agree(ctx, twoWaves[0])
		assert.Truef(t, !yes && err != nil && err.Error() == "interrupted", "%t, %v", yes, err)
	})
}

func TestThePageOfRunsHasAlsoThoseThatDidNotStart(t *testing.T) {
	s := migrate.Summary{Stopped: true, Members: []migrate.Member{{Cluster: "a", State: transition.Failed, Err: transform.NewError(transform.ExitRefused, "it is refused")}, {Cluster: "b", State: transition.Waiting}}}
	for format, want := range map[string][]string{"html": {"<h2>a", "it is refused", "<h2>b"}, "json": {`"kind":"Migration"`, `"continue":"again"`}, "text": {"done: 0, failed: 1, not started: 1", "to continue: again"}} {
		out, _, code := shownBy(func(c *Collector) {
			c.OutputFormat = format
			assert.NilError(t, NewRuns(c, nil, true).WriteSummary(s, "again"))
		})
		contains(t, out, want...)
		assert.Truef(t, code == int(s.ExitCode()), "%s: exit code %d", format, code)
	}
	failed := errors.New("it failed")
	out, _, _ := shownBy(func(c *Collector) {
		c.OutputFormat = "html"
		for _, cluster := range []string{"a", ""} {
			err := NewRuns(c, nil, false).WriteRun(cluster, failed)
			assert.True(t, errors.Is(err, failed), err)
		}
	})
	assert.True(t, strings.Count(out, "<html") == 1 && strings.Contains(out, "it failed"), out)
}
