// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// cost is what one run of a program took.
type cost struct {
	wall, cpu time.Duration
	memory    int64 // the most that was resident, in bytes
}

// run measures a program. Its output is thrown away by the system, so that
// reading it costs no one anything.
func run(env []string, command ...string) (cost, error) {
	c := exec.Command(command[0], command[1:]...)
	var errors bytes.Buffer
	messages, err := os.CreateTemp("", "bench-*.err") // a pipe would take part in the work
	if err != nil {
		return cost{}, err
	}
	defer os.Remove(messages.Name())
	defer messages.Close()
	c.Stderr = messages
	c.Env = append(os.Environ(), env...)
	start := time.Now()
	err = c.Run()
	wall := time.Since(start)
	if err != nil {
		messages.Seek(0, 0)
		errors.ReadFrom(messages)
		return cost{}, fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, errors.String()[:min(errors.Len(), 2000)])
	}
	usage := c.ProcessState.SysUsage().(*syscall.Rusage)
	return cost{wall, c.ProcessState.UserTime() + c.ProcessState.SystemTime(), int64(usage.Maxrss) << 10}, nil
}

// median of an odd number of values is one of them.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
