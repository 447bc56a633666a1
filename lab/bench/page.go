// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// notes are what no run can tell: what is measured, and what bounds the figures.
//
//go:embed notes.md
var notes string

// page is the page of the documentation: the tables of this run and the notes.
func page(tables []byte) []byte {
	commit, _ := exec.Command("git", "describe", "--always", "--dirty").Output()
	return fmt.Appendf(nil, "# Benchmarks\n\nMade by `make bench` on %s, at %s, on %s with %d cores and %s; load when it ended: %s.\n\n```text\n%s\n```\n\n%s",
		time.Now().Format("2006-01-02"), strings.TrimSpace(string(commit)), processor(), runtime.NumCPU(), runtime.Version(), load(), tables, notes)
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, found := strings.Cut(string(text), "model name")
	if !found {
		return runtime.GOARCH
	}
	name, _, _ := strings.Cut(strings.TrimLeft(rest, "\t :"), "\n")
	return name
}

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
