// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"slices"
	"strings"
)

// Unblock reports what to do about findings that stop, with rules that they may be of: it
// offers --accept only for a rule that takes it.
func Unblock(found []Finding, of []Rule) string {
	var accept []string
	refused := false
	for _, f := range Stopping(found) {
		if !slices.ContainsFunc(of, func(r Rule) bool { return r.ID == f.Rule && r.Acceptable }) {
			refused = true
		} else if flag := "--accept " + f.Rule; !slices.Contains(accept, flag) {
			accept = append(accept, flag)
		}
	}
	switch flags := strings.Join(accept, " "); {
	case flags == "":
		return "correct them; none of them can be accepted"
	case refused:
		return "correct them; not all of them can be accepted, but some with " + flags
	default:
		return "correct them, or accept them with " + flags
	}
}
