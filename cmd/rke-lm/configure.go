// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/config"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform/review"
)

// configFromBase is the annotation of a verb that reads the configuration of a commit.
const configFromBase = "configuration from the base"

// configure reads the configuration file, that of the flag or the one that counts in the
// current folder for verbs that have choices, and sets its choices.
func (o *options) configure(flags *pflag.FlagSet) (err error) {
	known, file := choiceKinds(), o.config
	uses := func(name string) bool { return flags.Lookup(name) != nil }
	if file == "" && slices.ContainsFunc(slices.Collect(maps.Keys(known)), uses) {
		file, err = config.Here()
	}
	if file == "" || err != nil {
		return err
	}
	settings, err := config.Read(file, known)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.Err, "configuration:", file)
	return o.apply(flags, file, settings)
}

// apply sets the migration options that a file holds and the command line does not. A verb
// without a flag has no use for it.
func (o *options) apply(flags *pflag.FlagSet, file string, settings []review.Setting) error {
	o.configured = map[string]bool{}
	for _, s := range settings {
		f := flags.Lookup(s.Key)
		if f == nil || f.Changed {
			continue
		}
		o.configured[s.Key] = true
		switch {
		case s.Key == "end-state":
			o.Target.EndStateBy = file
		case s.Key == "exclude" && o.config == "":
			o.excludeFrom = filepath.Dir(file)
		}
		for _, v := range s.Values {
			if s.Key == run.CCMValues && o.config == "" && !filepath.IsAbs(v) {
				v = filepath.Join(filepath.Dir(file), v)
			}
			if err := flags.Set(s.Key, v); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

// choiceKinds are the flags that a file may hold.
func choiceKinds() map[string]config.Kind {
	var o options
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.fileFlags(flags)
	o.targetFlags(flags)
	known, kinds := map[string]config.Kind{}, map[string]config.Kind{"bool": config.Bool, "stringArray": config.List}
	flags.VisitAll(func(f *pflag.Flag) { known[f.Name] = cmp.Or(kinds[f.Value.Type()], config.Text) })
	return known
}
