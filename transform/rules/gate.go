// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
)

// inGates finds the arguments in which a gate has a wrong value: check says
// what is wrong with it and what to do, or "".
func inGates(list []args.Placed, gate string, check func(value string) (message, fix string), at transform.Report) {
	for _, a := range list {
		value, named := args.Gates([]args.Arg{a.Arg})[gate]
		if !named {
			continue
		}
		if message, fix := check(value); message != "" {
			at(a.Node, message, fix)
		}
	}
}

func isOff(gate string) bool { return strings.EqualFold(gate, "false") || gate == "0" }
