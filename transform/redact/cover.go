// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func covers(text []byte, spans []span) []yamledit.Splice {
	return lists.Map(spans, func(s span) yamledit.Splice { return cover(text, s.start, s.end) })
}

// applied hides what the splices cover.
func applied(text []byte, splices []yamledit.Splice) []byte {
	out, err := yamledit.Apply(text, disjoint(text, splices))
	if err != nil { // not reached: disjoint puts them in order
		return bytes.Repeat([]byte(Mark+"\n"), yamledit.CountLines(text))
	}
	return out
}

// cover hides [start, end) of a text, line by line.
func cover(text []byte, start, end int) yamledit.Splice {
	var out strings.Builder
	for i, line := range strings.SplitAfter(string(text[start:end]), "\n") {
		body := strings.TrimRight(line, "\r\n")
		if i > 0 || strings.TrimSpace(body) == "" {
			out.WriteString(body[:len(body)-len(strings.TrimLeft(body, " \t"))])
		}
		if strings.TrimSpace(body) != "" {
			out.WriteString(Mark)
		}
		out.WriteString(line[len(body):])
	}
	return yamledit.Splice{Start: start, End: end, New: out.String()}
}

// disjoint sorts splices and drops those that lie in or reach into another.
func disjoint(text []byte, splices []yamledit.Splice) []yamledit.Splice {
	slices.SortFunc(splices, func(a, b yamledit.Splice) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	var out []yamledit.Splice
	for _, s := range splices {
		if n := len(out); n > 0 && s.Start < out[n-1].End {
			if s.End > out[n-1].End { // what sticks out is secret as well
				out = append(out, yamledit.Splice{Start: out[n-1].End, End: s.End, New: strings.Repeat("\n", bytes.Count(text[out[n-1].End:s.End], newline))})
			}
			continue
		}
		out = append(out, s)
	}
	return out
}
