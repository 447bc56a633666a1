// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// flagError names what is wrong with a flag: of one that does not exist the one that was meant, if no other can be.
func flagError(c *cobra.Command, err error) error {
	if given := c.Flags().Args(); !c.HasParent() && len(given) > 0 {
		return unknownCommand(c, given)
	}
	if invalid, is := errors.AsType[*pflag.InvalidValueError](err); is {
		f := invalid.GetFlag()
		what := map[string]string{"int": "is not a number", "duration": "is not a duration such as 10m"}[f.Value.Type()]
		if errors.Is(err, strconv.ErrSyntax) {
			what = cmp.Or(what, "is not true or false")
		}
		return fmt.Errorf("--%s %s %s", f.Name, invalid.GetValue(), cmp.Or(what, "is not known; "+invalid.Unwrap().Error()))
	}
	do := "see " + c.CommandPath() + " --help"
	if unknown, is := errors.AsType[*pflag.NotExistError](err); is && unknown.GetSpecifiedShortnames() == "" {
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		name, _, _ := strings.Cut(unknown.GetSpecifiedName(), "=")
		do = strings.Replace(args.Meant(name, known, do), "mean ", "mean --", 1)
	}
	return fmt.Errorf("%w; %s", err, do)
}

// unknownCommand refuses what is no command below another one.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	do := "see " + c.CommandPath() + " --help"
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) == 1 {
		do = "did you mean " + near[0] + "?"
	}
	return fmt.Errorf("unknown command: %s; %s", args[0], do)
}

// The annotations of flags that cobra keeps groups in.
const (
	oneOfAnnotation     = "cobra_annotation_one_required"
	excludingAnnotation = "cobra_annotation_mutually_exclusive"
)

// checkGroups reports flags that exclude each other, and those of which one is required, before cobra does.
func checkGroups(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		for _, group := range f.Annotations[excludingAnnotation] {
			if set := inGroup(flags, group, true); err == nil && len(set) > 1 {
				err = fmt.Errorf("%s cannot be used together; use one of them", strings.Join(set, " and "))
			}
		}
		for _, group := range f.Annotations[oneOfAnnotation] {
			if missing := inGroup(flags, group, false); err == nil && len(missing) == len(strings.Fields(group)) {
				err = fmt.Errorf("a flag is missing; use %s", strings.Join(missing, " or "))
			}
		}
	})
	return err
}

// inGroup are the flags of a group that are set, or not.
func inGroup(flags *pflag.FlagSet, group string, set bool) []string {
	names := lists.Where(strings.Fields(group), func(name string) bool { return flags.Changed(name) == set })
	return lists.Map(names, func(name string) string { return "--" + name })
}

// noFiles refuses arguments of a verb that takes none.
func noFiles(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case c.Flags().Lookup("cluster") == nil:
		return fmt.Errorf("%s: %s takes no argument; remove it", args[0], c.CommandPath())
	}
	return fmt.Errorf("%s: %s takes no file, because it is for live clusters; name one with --cluster or --context; rke-lm plan and rke-lm apply take files, and rke-lm verify --from a dump", args[0], c.CommandPath())
}
