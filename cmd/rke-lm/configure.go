// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/config"
)

// configure sets the flags of choice that a file holds and the command line does
// not. A verb without a flag has no use for it.
func (o *options) configure(flags *pflag.FlagSet) error {
	if o.config == "" {
		return nil
	}
	settings, err := config.Read(o.config, choiceKinds())
	if err != nil {
		return err
	}
	o.configured = map[string]bool{}
	for _, s := range settings {
		f := flags.Lookup(s.Key)
		if f == nil || f.Changed {
			continue
		}
		o.configured[s.Key] = true
		for _, v := range s.Values {
			if err := flags.Set(s.Key, v); err != nil {
				return fmt.Errorf("%s: %w", o.config, err)
			}
		}
	}
	return nil
}

// choiceKinds are the flags that a file may hold.
func choiceKinds() map[string]config.Kind {
	var o options
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.inputFlags(flags)
	o.targetFlags(flags)
	defineByHand(flags, new([]string))
	known := map[string]config.Kind{}
	flags.VisitAll(func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "bool":
			known[f.Name] = config.Bool
		case "stringArray":
			known[f.Name] = config.List
		default:
			known[f.Name] = config.Text
		}
	})
	return known
}
