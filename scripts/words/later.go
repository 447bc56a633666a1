// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// clean lists the texts that are held to the list, by kind and the beginning of their path.
var clean = map[kind][]string{
	document: {""},
	message:  {"cmd/", "internal/", "transform/", "scripts/", "bench/", "charts/"},
}

// later tells whether a finding is in a text that was not rewritten yet.
func (f finding) later() bool {
	for _, prefix := range clean[f.kind] {
		if strings.HasPrefix(f.file, prefix) {
			return false
		}
	}
	return true
}
