// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

// spare is memory that is never touched, so that it takes none of the machine. The garbage
// collector counts it: it lets the heap of a run, of which some 6 MB are in use, grow by as much
// more before it runs again.
var spare []byte

// spareMemory saves 6 to 10 % of the CPU of a run, and keeps all runs over the fleet of
// docs/benchmarks.md below 64 MB.
const spareMemory = 4 << 20

// spareHeap keeps spare memory, unless the environment sets how often garbage is collected.
func spareHeap(getenv func(string) string) {
	if getenv("GOGC") == "" && getenv("GOMEMLIMIT") == "" {
		spare = make([]byte, spareMemory)
	}
}
