// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// programName is that of the program where nothing calls it by another one.
const programName = "rke-lm"

// calledAs returns the name by which a user runs the program: as a plugin, kubectl finds
// it as kubectl-leader_migration.
func calledAs(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	plugin, is := strings.CutPrefix(name, "kubectl-")
	if !is {
		return programName
	}
	return "kubectl " + strings.NewReplacer("-", " ", "_", "-").Replace(plugin)
}

// call shows a name in usage and examples.
func call(root *cobra.Command, name string) {
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	for _, c := range root.Commands() {
		c.Example = strings.ReplaceAll(c.Example, programName+" ", name+" ")
	}
}
