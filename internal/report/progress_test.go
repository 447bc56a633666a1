// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// screen is a terminal of one progress, and what was written to it since it was last read.
type screen struct {
	bytes.Buffer
	progress *Progress
}

func newScreen(columns int) *screen {
	s := &screen{}
	s.progress = &Progress{terminal: &s.Buffer, width: func() int { return columns }}
	return s
}

// shows lets work last, and requires what was drawn since it was last read.
func (s *screen) shows(t *testing.T, d time.Duration, want string) {
	t.Helper()
	time.Sleep(d)
	synctest.Wait()
	s.progress.locked(func() {
		assert.Equal(t, s.String(), want)
		s.Reset()
	})
}

const erased = "\r\x1b[K"

func TestWorkThatEndsSoonShowsNoProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(80)
		s.progress.Start(t.Context())
		s.progress.Reached("files", 1, 2)
		s.shows(t, shownAfter-1, "")
		s.progress.End()
		s.shows(t, time.Hour, "")
	})
}

func TestWorkThatLastsShowsItsProgressUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(80)
		s.progress.Start(t.Context())
		s.progress.Reached("files", 1, 2)
		bar := "[" + strings.Repeat("=", 18) + strings.Repeat(" ", 19) + "]"
		s.shows(t, shownAfter, "files: 1/2 "+bar)
		s.shows(t, redrawnEach, "") // it is the same
		s.progress.Reached("files", 2, 2)
		s.shows(t, redrawnEach, erased+"files: 2/2 ["+strings.Repeat("=", 37)+"]")
		s.progress.End()
		s.shows(t, time.Hour, erased)
	})
}

func TestAnUnknownTotalIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(80)
		defer s.progress.Start(t.Context()).End()
		s.shows(t, shownAfter, "") // nothing is known
		s.progress.Reached("clusters", 7, 0)
		s.shows(t, redrawnEach, "clusters: 7")
	})
}

func TestALineOfProgressFitsTheTerminal(t *testing.T) {
	for columns, want := range map[int]string{
		0:  "files: 1/2 [" + strings.Repeat("=", 18) + strings.Repeat(" ", 19) + "]",
		1:  "",
		8:  "files: ",
		14: "files: 1/2",
		15: "files: 1/2 [ ]",
		20: "files: 1/2 [===   ]",
	} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			p := newScreen(columns).progress
			p.Reached("files", 1, 2)
			got := p.line()
			assert.True(t, got == want && (columns <= 0 || len(got) < columns), got)
		})
	}
}

func TestTheLineIsRemovedBeforeOthersAndDrawnBelowThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(14)
		over := s.progress.Over(&s.Buffer)
		s.progress.Start(t.Context())
		s.progress.Reached("clusters", 3, 0)
		s.shows(t, shownAfter, "clusters: 3")
		io.WriteString(over, "a.yaml:3: a war")
		s.shows(t, time.Hour, erased+"a.yaml:3: a war") // the line has no end yet
		io.WriteString(over, "ning\n")
		s.shows(t, redrawnEach, "ning\nclusters: 3")
		s.progress.End()
		s.shows(t, 0, erased)
		io.WriteString(over, "the summary\n")
		s.shows(t, time.Hour, "the summary\n")
	})
}

func TestAnInterruptRemovesTheLineBeforeTheWorkEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(80)
		ctx, interrupt := context.WithCancel(t.Context())
		defer s.progress.Start(ctx).End()
		s.progress.Reached("clusters", 3, 0)
		s.shows(t, shownAfter, "clusters: 3")
		interrupt()
		s.shows(t, time.Hour, erased)
	})
}

func TestProgressThatIsNotShownCostsNothing(t *testing.T) {
	var none *Progress
	none.Reached("files", 1, 2)
	none.Start(t.Context()).End()
}

func TestColorsDependOnTheFlagThenOnTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		name     string
		color    string
		env      map[string]string
		terminal bool
		want     bool
	}{
		{"a terminal", ColorAuto, nil, true, true},
		{"a pipe", ColorAuto, nil, false, false},
		{"NO_COLOR", ColorAuto, map[string]string{"NO_COLOR": "1"}, true, false},
		{"NO_COLOR and always", ColorAlways, map[string]string{"NO_COLOR": "1"}, false, true},
		{"CLICOLOR_FORCE", ColorAuto, map[string]string{"CLICOLOR_FORCE": "1"}, false, true},
		{"CLICOLOR_FORCE=0", ColorAuto, map[string]string{"CLICOLOR_FORCE": "0"}, false, false},
		{"NO_COLOR and CLICOLOR_FORCE", ColorAuto, map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, true, false},
		{"never", ColorNever, map[string]string{"CLICOLOR_FORCE": "1"}, true, false},
	} {
		assert.Equal(t, colored(c.color, c.terminal, func(name string) string { return c.env[name] }), c.want, c.name)
	}
}
