// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import "strings"

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
