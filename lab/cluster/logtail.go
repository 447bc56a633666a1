// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/lab/process"
)

// manyLines is how much is printed of a program when a scenario has failed.
const manyLines = 40

// part is one program of the cluster.
type part struct {
	name    string
	process *process.Process
}

// fault is a line that Kubernetes, etcd or a panic writes when something goes wrong.
var fault = regexp.MustCompile(`^[EF]\d{4} |"level":"(error|fatal|panic)"|^(panic|fatal error): `)

// LogTail describes for people why a scenario may have failed, which its logs can no longer tell when they are
// gone: the last lines of every program that ended by itself, and the faults that the others have logged.
func (c *Cluster) LogTail() string {
	var b strings.Builder
	for _, p := range c.programs() {
		lines, what := p.process.Lines(manyLines, fault.MatchString), "faults"
		if !p.process.Alive() && !p.process.Asked() {
			lines, what = p.process.Lines(manyLines, nil), fmt.Sprintf("ended by itself (%v)", p.process.Err())
		}
		if len(lines) > 0 {
			fmt.Fprintf(&b, "--- %s: %s\n%s\n", p.name, what, strings.Join(lines, "\n"))
		}
	}
	return b.String()
}

// programs are all that were ever started, those of the control plane first.
func (c *Cluster) programs() []part {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := slices.Clone(c.parts)
	for n, m := range c.managers {
		list = append(list, part{fmt.Sprintf("%s, the %d. manager", m.Caller(), n+1), m.process})
	}
	return list
}
