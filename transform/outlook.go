// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import "slices"

// Outlook is a plan in a few words: how far the documents are, and what comes next.
type Outlook struct {
	Reached  string   // the last stage in a row whose edit is done; "" for none
	Next     string   // the stage whose edit is next; "" where none is left
	Blocked  []string // the rules whose errors block that stage
	Manual   []string // stages that are done manually before it, and do not show in a file
	Restarts []Restart
}

// State is how far the documents are in a word: Done, Blocked or Todo.
func (o Outlook) State() State {
	switch {
	case o.Next == "":
		return Done
	case len(o.Blocked) > 0:
		return Blocked
	}
	return Todo
}

// Outlook reports how far the documents of a plan are.
func (p *Plan) Outlook() Outlook {
	var o Outlook
	for _, s := range p.Steps {
		switch {
		case s.Left():
			o.Next, o.Manual, o.Restarts = s.Stage.Name, s.Stage.AfterByHand, s.Restarts()
			for _, f := range Stopping(s.Findings) {
				if !slices.Contains(o.Blocked, f.Rule) {
					o.Blocked = append(o.Blocked, f.Rule)
				}
			}
			return o
		case s.Stage.Edit != nil && s.State == Done:
			o.Reached = s.Stage.Name
		}
	}
	return o
}
