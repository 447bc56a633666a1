// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/fleet"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// allocated returns how many bytes a command allocates, which neither the machine nor
// its load decides. make bench measures the time.
func allocated(t *testing.T, text string, line ...string) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var errs bytes.Buffer
	code := run(context.Background(), append(line, "-"), streams{in: strings.NewReader(text), out: io.Discard, err: &errs})
	runtime.ReadMemStats(&after)
	if code > exitcode.Found {
		t.Fatalf("exit code %d: %.500s", code, errs.String())
	}
	return after.TotalAlloc - before.TotalAlloc
}

// doubled is what a buffer that grows in steps may take as well.
const doubled = 256 << 10

func TestTwiceOfAnythingTakesTwice(t *testing.T) {
	for _, h := range fleet.Hardest() {
		for _, verb := range []string{"plan", "lint", "explain"} {
			t.Run(verb+" of "+h.Of, func(t *testing.T) {
				n := h.Usual / 4
				none, once, twice := allocated(t, h.With(1), verb), allocated(t, h.With(n), verb), allocated(t, h.With(2*n), verb)
				if own := once - none; once < none || twice-none > own*5/2+doubled {
					t.Errorf("%d bytes for %d, %d for %d, %d for one", once, n, twice, 2*n, none)
				}
			})
		}
	}
}
