// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/clusters"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/shell"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// summary is that of the plans of a run.
type summary struct {
	outputs.Summary
	out     io.Writer
	palette outputs.Palette
	flags   []string // choices of the command line, which a command repeats
	folder  string   // of the saved plans; "" for none

	held bytes.Buffer // the text of plans, which waits for the summary that comes before it
}

// Write takes the text of plans.
func (s *summary) Write(text []byte) (int, error) { return s.held.Write(text) }

// whereabouts is where a cluster is, as a command names it.
type whereabouts struct{ file, live string }

func whereIs(f clusters.Cluster) whereabouts {
	at := whereabouts{file: f.Docs[0].File()}
	if f.Live != nil {
		at.live = f.Live.Name()
	}
	return at
}

// add takes the plan of a cluster.
func (s *summary) add(p outputs.Plan, o transform.Outlook, at whereabouts) {
	s.Rows = append(s.Rows, outputs.NewSummaryRow(p, o))
	if s.Command == "" && o.Next != "" && len(o.Blocked) == 0 && at.file != yamledit.Stdin {
		s.Command = s.next(o, at)
	}
}

// next is the command that continues with a cluster.
func (s *summary) next(o transform.Outlook, at whereabouts) string {
	where := []string{shell.Path(at.file)}
	if at.live != "" {
		where = []string{"--cluster", at.live}
	}
	verb, flags := []string{"rke-lm", "apply", "--next"}, s.flags
	switch {
	case s.folder != "": // it has the choices
		verb = []string{"rke-lm", "apply", "--plan", s.folder, "--next"}
		flags = slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return !strings.HasPrefix(f, "--ccm-values=") })
	case o.Manual:
		verb = []string{"rke-lm", "plan", "--stage", o.Next}
	}
	return shell.Words(slices.Concat(verb, flags, where)...)
}

// finish writes what is held, between two summaries where there are several clusters.
func (s *summary) finish(alone bool) error {
	if alone {
		s.Summary.Write(s.out, s.palette)
		return nil
	}
	several := s.several()
	if several {
		s.Summary.Write(s.out, s.palette)
		if _, err := io.WriteString(s.out, "\n"); err != nil {
			return err
		}
	}
	if _, err := s.held.WriteTo(s.out); err != nil {
		return err
	}
	switch {
	case several:
		s.Summary.Write(s.out, s.palette)
	case s.folder != "":
		s.WriteNext(s.out, s.palette)
	}
	return nil
}

// several reports whether there is something to sum up.
func (s *summary) several() bool { return len(s.Rows)+s.Refused > 1 }

// repeatedChoices are the flags of choice on the command line, as another command takes
// them. Those of a configuration file apply by themselves.
func (o *options) repeatedChoices(flags *pflag.FlagSet) []string {
	var all options
	choice := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.targetFlags(choice)
	all.inputFlags(choice)
	all.valuesFlag(choice, "")
	var words []string
	choice.VisitAll(func(f *pflag.Flag) {
		given := flags.Lookup(f.Name)
		if given == nil || !given.Changed || o.configured[f.Name] {
			return
		}
		words = append(words, flagWords(given)...)
	})
	return words
}
