// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"slices"
	"strings"
)

// Command returns the arguments in what a container runs, as the component reads
// them: a value may be after its flag as an item of its own, and an underscore
// in a name is a hyphen. Items that are no flags, such as the program, count by
// their text.
func Command(items []string) []Arg {
	var list []Arg
	for len(items) > 0 {
		a := Parse(items[0])
		if strings.HasPrefix(a.Text, "--") {
			a.Name = strings.ReplaceAll(a.Name, "_", "-")
		}
		items = items[1:]
		if takesNext(a) && len(items) > 0 && !strings.HasPrefix(items[0], "-") {
			a.Value, items = items[0], items[1:]
		}
		list = append(list, a)
	}
	return list
}

// takesNext reports whether the item after a flag is its value.
func takesNext(a Arg) bool {
	return strings.HasPrefix(a.Text, "--") && len(a.Text) > 2 && !strings.Contains(a.Text, "=") && !slices.Contains(switches, a.Name)
}

// GatesFlag is the argument that holds feature gates.
const GatesFlag = "feature-gates"

// Gates returns the feature gates that arguments name, with their values.
func Gates(list []Arg) map[string]string {
	gates := map[string]string{}
	for _, a := range list {
		if a.Name != GatesFlag {
			continue
		}
		for _, g := range strings.Split(a.Value, ",") {
			if name, value, _ := strings.Cut(strings.TrimSpace(g), "="); name != "" {
				gates[name] = strings.TrimSpace(value)
			}
		}
	}
	return gates
}
