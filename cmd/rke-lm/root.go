// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rke2"
)

// distros is the one list of what rke-lm knows.
func distros() []transform.Distro { return []transform.Distro{rke2.Distro()} }

// options are the choices that several verbs share.
type options struct {
	streams
	noColor  bool
	distro   string
	endState string
	assume   string
	accept   []string
	output   string
}

func newRoot(s streams) *cobra.Command {
	o := &options{streams: s}
	root := &cobra.Command{
		Use:   "rke-lm",
		Short: "Take a Rancher cluster off the in-tree AWS cloud provider, stage by stage",
		Long: `rke-lm plans, applies and proves the leader migration of a Rancher cluster from
the in-tree AWS cloud provider to the external aws-cloud-controller-manager.

It reads the cluster's own YAML, shows every stage as a small diff, and changes
nothing but what the stage promises.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.PersistentFlags().BoolVar(&o.noColor, "no-color", false, "never colour the output (also: NO_COLOR)")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
	})
	root.AddCommand(newPlan(o), newApply(o), newExplain(o), newVersion(o))
	return root
}

// inputFlags are those of every verb that reads clusters.
func (o *options) inputFlags(f *pflag.FlagSet) {
	f.StringVar(&o.distro, "distro", "", "take every document for this distro instead of detecting it: "+strings.Join(distroNames(), ", "))
	f.StringVar(&o.assume, "assume-version", "", "RKE2 release for files that state none, such as v1.26.15+rke2r1")
}

// targetFlags are the operator's choices.
func (o *options) targetFlags(f *pflag.FlagSet) {
	f.StringVar(&o.endState, "end-state", "", "provider behind the switch: external; giving it acknowledges node-rename")
	f.StringArrayVar(&o.accept, "accept", nil, "acknowledge the errors of a rule (repeatable)")
}

func (o *options) outputFlag(c *cobra.Command, formats ...string) {
	c.Flags().StringVarP(&o.output, "output", "o", formats[0], "output format: "+strings.Join(formats, ", "))
	complete(c, "output", formats)
}

// complete offers fixed values for a flag.
func complete(c *cobra.Command, flag string, values []string) {
	err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag was defined a line above
	}
}

// target checks the choices and returns them.
func (o *options) target() (transform.Target, error) {
	t := transform.Target{EndState: o.endState, AssumeVersion: o.assume, Accept: o.accept}
	if t.EndState != "" && t.EndState != transform.EndStateExternal {
		return t, fmt.Errorf("--end-state %s is not known; use %s", t.EndState, transform.EndStateExternal)
	}
	for _, id := range o.accept {
		if err := checkAccept(id); err != nil {
			return t, err
		}
	}
	return t, nil
}

// checkAccept refuses rules that do not exist or must not be acknowledged.
func checkAccept(id string) error {
	var known []string
	for _, d := range distros() {
		for _, r := range d.Rules {
			if r.ID == id && r.Acceptable {
				return nil
			}
			if r.ID == id {
				return fmt.Errorf("--accept %s: this rule cannot be acknowledged; correct what it finds", id)
			}
			if r.Acceptable {
				known = append(known, r.ID)
			}
		}
	}
	slices.Sort(known)
	return fmt.Errorf("--accept %s: no such rule; the ones that can be acknowledged are %s", id, strings.Join(known, ", "))
}

func checkOneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("--%s %s is not known; use one of %s", flag, value, strings.Join(allowed, ", "))
}

func distroNames() []string {
	var names []string
	for _, d := range distros() {
		names = append(names, d.Name)
	}
	return names
}

// palette colours only for a terminal whose user did not object.
func (o *options) palette(w io.Writer) outputs.Palette {
	f, ok := w.(*os.File)
	return outputs.Palette{On: ok && !o.noColor && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(f.Fd()))}
}
