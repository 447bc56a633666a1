// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rke-lm/rke-lm/lab/aws"
	"github.com/rke-lm/rke-lm/lab/cluster"
)

// Seconds adds up the time with a number of owners; the last number counts itself and more.
func Seconds(timeline []Interval) (none, one, two float64) {
	for _, i := range timeline {
		switch len(i.Owners) {
		case 0:
			none += i.Seconds()
		case 1:
			one += i.Seconds()
		default:
			two += i.Seconds()
		}
	}
	return none, one, two
}

// LongestGap returns the longest time without an owner between two owners.
func LongestGap(timeline []Interval) time.Duration {
	var longest time.Duration
	for n, i := range timeline {
		if len(i.Owners) == 0 && n > 0 && n < len(timeline)-1 {
			longest = max(longest, i.To.Sub(i.From))
		}
	}
	return longest
}

// Line is the last line of a scenario, made to be read by programs.
func Line(name string, timeline []Interval) string {
	none, one, two := Seconds(timeline)
	return fmt.Sprintf("e2e %s ok leaders0=%.1f leaders1=%.1f leaders2=%.1f", name, none, one, two)
}

// Writers returns the components that wrote to AWS, in their order, each once for every time that it became
// the writer. Two loops that run at once show as components that alternate.
func Writers(writes []aws.Call) []string {
	var writers []string
	for _, w := range writes {
		component := string(ComponentOf(w.Caller))
		if len(writers) == 0 || writers[len(writers)-1] != component {
			writers = append(writers, component)
		}
	}
	return writers
}

// ComponentOf returns the component of an owner or a caller.
func ComponentOf(name string) cluster.Component {
	component, _, _ := strings.Cut(name, "@")
	return cluster.Component(component)
}

// Strays returns the writes by a process that did not own the controllers then. slack is what may lie
// between a change of a lease and our seeing it.
func Strays(timeline []Interval, writes []aws.Call, slack time.Duration) []aws.Call {
	return slices.DeleteFunc(slices.Clone(writes), func(w aws.Call) bool {
		return slices.ContainsFunc(timeline, func(i Interval) bool {
			return slices.Contains(i.Owners, w.Caller) && !w.Time.Before(i.From.Add(-slack)) && !w.Time.After(i.To.Add(slack))
		})
	})
}

// String returns the timeline in lines, in seconds since its beginning.
func String(timeline []Interval) string {
	var b strings.Builder
	for _, i := range timeline {
		since := timeline[0].From
		fmt.Fprintf(&b, "%7.1f – %6.1f  %s\n", i.From.Sub(since).Seconds(), i.To.Sub(since).Seconds(), or(strings.Join(i.Owners, ", "), "no one"))
	}
	return b.String()
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
