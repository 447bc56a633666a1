// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import "github.com/rke-lm/rke-lm/transform"

// Link is a symbolic link or a submodule that belongs to a change.
type Link struct {
	File, Kind string
	Edited     string // what it leads to, if the change edits that and not the link
}

// Links are the findings about links: what they lead to is not reviewed.
func Links(links []Link, accepted []string) (found []transform.Finding) {
	for _, l := range links {
		f := transform.Finding{File: l.File, Message: "the change adds, moves or removes a " + l.Kind + ", and what it leads to is not reviewed", Fix: "use files of this repository in its place"}
		if l.Edited != "" {
			f.Message, f.Fix = "a "+l.Kind+" leads to "+l.Edited+", which the change edits, and which is not reviewed by its own name", "add that PATH to the command, or replace the link by the file"
		}
		found = append(found, f)
	}
	return contentUnknown.Report(found, accepted)
}
