// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// Prints the median wall time of a command: go run scripts/startup.go COMMAND [ARG...]
// It checks nothing, because a time limit would fail on a busy machine.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const runs = 21 // odd, so that one run is the median

func main() {
	command := os.Args[1:]
	if len(command) == 0 {
		fmt.Fprintln(os.Stderr, "usage: startup COMMAND [ARG...]")
		os.Exit(2)
	}
	var times []time.Duration
	for range runs {
		start := time.Now()
		if err := exec.Command(command[0], command[1:]...).Run(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", strings.Join(command, " "), err)
			os.Exit(1)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	ms := float64(times[runs/2]) / float64(time.Millisecond)
	fmt.Printf("%s: %.1f ms, the median of %d runs\n", strings.Join(command, " "), ms, runs)
}
