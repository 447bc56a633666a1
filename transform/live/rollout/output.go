// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/redact"
)

// How much of an output is read, and how much of its end is kept.
const (
	mostOutput = 1 << 20 // bytes
	keptLines  = 10
	keptRunes  = 2000
)

// outputIn returns the end of what the instructions of a plan printed: the agent
// keeps a gzipped JSON object of base64 by the names of the instructions, of those
// alone whose output it was set to save. It is redacted before it is cut: half a
// secret does not look like one.
func outputIn(data []byte) string {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(z, mostOutput))
	var printed map[string][]byte
	if err != nil || json.Unmarshal(text, &printed) != nil {
		return ""
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(printed)) {
		for line := range strings.Lines(redact.Text(string(printed[name]))) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, name+": "+line)
			}
		}
	}
	end := []rune(strings.Join(lines[max(0, len(lines)-keptLines):], "\n"))
	return string(end[max(0, len(end)-keptRunes):])
}

// printed adds an output to a sentence.
func printed(output string) string {
	if output == "" {
		return ""
	}
	return "; it printed:\n    " + strings.ReplaceAll(output, "\n", "\n    ")
}

// Failure reports that tries of a machine's plan failed, and what the last one printed;
// "" where none did.
func (p MachineProgress) Failure() string {
	if p.Failures == 0 {
		return ""
	}
	return "machine " + p.Name + ": " + counted(p.Failures) + " of its plan failed; " + journal + printed(p.Output)
}
