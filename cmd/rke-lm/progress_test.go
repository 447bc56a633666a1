// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

// pseudoTerminal opens a terminal of 80 columns for a program. read closes it and returns what
// was written to it; it is called outside of a bubble, whose clock a read would stop.
func pseudoTerminal(t *testing.T) (program *os.File, read func() string) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals: ", err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: 80, Row: 24})
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	assert.NilError(t, err)
	t.Cleanup(func() { program.Close() })
	text := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(screen) // ends with an error once the program has closed its end
		text <- strings.ReplaceAll(string(all), "\r\n", "\n")
	}()
	return program, func() string {
		program.Close()
		return <-text
	}
}

// lasting runs a command over documents that come one a second, and returns its code.
func permanent(t *testing.T, ctx context.Context, line string, s streams, documents ...string) (code int) {
	t.Helper()
	in, feed := io.Pipe()
	s.in = in
	var fed sync.WaitGroup
	defer fed.Wait()
	fed.Go(func() {
		defer feed.Close()
		for _, d := range documents {
			if _, err := io.WriteString(feed, d+"---\n"); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	})
	defer in.Close()
	return execute(ctx, strings.Fields(line), s)
}

// remaining is what a person sees of a text after its lines of progress were removed.
func remaining(t *testing.T, text string) string {
	t.Helper()
	for {
		before, after, removed := strings.Cut(text, "\r\x1b[K")
		if !removed {
			break
		}
		text = before[:strings.LastIndex(before, "\n")+1] + after
	}
	assert.Truef(t, !strings.ContainsAny(text, "\r\x1b"), "the terminal is steered: %q", text)
	return text
}

// threeClusters are documents, each as long as what is read of a stream at once.
func threeClusters() (list []string) {
	for _, name := range []string{"reed", "fen", "heath"} {
		list = append(list, small(name)+"---\n"+strings.Repeat("#\n", 1<<20))
	}
	return list
}

func TestLongWorkShowsItsProgressOnATerminalAndLeavesNothingOfIt(t *testing.T) {
	for _, line := range []string{"plan -", "apply --next --dry-run -", "lint -", "explain -"} {
		t.Run(line, func(t *testing.T) {
			program, read := pseudoTerminal(t)
			var plain strings.Builder
			t.Setenv("COLUMNS", "80")
			synctest.Test(t, func(t *testing.T) {
				code := permanent(t, t.Context(), line, streams{out: &plain, err: &plain}, threeClusters()...)
				got := permanent(t, t.Context(), line+" --color=never", streams{out: program, err: program}, threeClusters()...)
				assert.Truef(t, got == code, "exit code %d, not %d", got, code)
			})
			text := read()
			assert.Contains(t, text, "clusters: 0", "no progress is shown")
			got := strings.Fields(remaining(t, text))
			assert.Truef(t, slices.Equal(got, strings.Fields(plain.String())), "got %q, want %q", got, plain.String())
		})
	}
}

func TestProgressIsOnlyForTerminalsThatCanRemoveIt(t *testing.T) {
	for name, c := range map[string]struct {
		term string
		pipe bool
	}{"a terminal that cannot": {"dumb", false}, "a pager that draws on it": {"xterm", true}} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TERM", c.term)
			program, read := pseudoTerminal(t)
			s := streams{out: io.Discard, err: program}
			if c.pipe {
				r, w, err := os.Pipe()
				assert.NilError(t, err)
				defer r.Close()
				defer w.Close()
				s.out = w
			}
			synctest.Test(t, func(t *testing.T) {
				assert.Equal(t, permanent(t, t.Context(), "plan --summary -", s, threeClusters()...), transform.ExitDone)
			})
			assert.Equal(t, read(), "")
		})
	}
}
