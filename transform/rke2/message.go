// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"strconv"
	"strings"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func lineOf(n yamledit.Node) string { return strconv.Itoa(n.Line()) }

// argNames lists arguments by name alone; a value may be a secret.
func argNames(list []args.Arg) string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = a.Name
	}
	return strings.Join(out, ", ")
}
