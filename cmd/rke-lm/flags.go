// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/config"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/review"
)

// inputFlags are those of every verb that reads clusters.
func (o *options) inputFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Format, "distro", "", "read every document as this distro instead of detecting it: "+strings.Join(formatNames(), ", "))
	f.StringVar(&o.HostNames, run.HostNames, "", "file with a line NODE HOSTNAME for each Node of the one cluster, from the command in the guide: where all are equal, external keeps the names")
	f.StringVar(&o.Target.AssumeVersion, "assume-version", "", "release for files without one, such as v1.26.15+rke2r1, v1.26.15-rancher1-1 or v1.26.15")
	group(f, inputGroup)
}

// leaveOut checks the patterns of what is left out.
func (o *options) leaveOut() (err error) {
	o.Finder.Excluded, err = source.Exclude(o.excludeFrom, o.exclude)
	return err
}

// searchFlags are those of verbs that search folders or commits.
func (o *options) searchFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.exclude, "exclude", nil, "leave out files and folders; a name, or a path with * and ** (repeatable)")
	o.valuesFlag(f, valuesInFiles)
	o.inputFlags(f)
}

// fileFlags are those of verbs that read files.
func (o *options) fileFlags(f *pflag.FlagSet) {
	o.searchFlags(f)
	f.BoolVar(&o.Finder.Unknown, "skip-unknown", false, "skip files without a cluster also if they are named, as with $(git ls-files '*.yaml')")
	group(f, inputGroup)
}

// What becomes of the file.
const (
	valuesInFiles = "values file with which helm installs the cloud-controller-manager of the one RKE cluster in PATH: the stages edit it as well, and their helm commands use it"
	valuesOfLive  = "values file with which helm installed the cloud-controller-manager of the RKE cluster, or will: helm gets a copy of it with what the migration requires"
)

func (o *options) valuesFlag(f *pflag.FlagSet, usage string) {
	f.StringVar(&o.Finder.Values, run.CCMValues, "", usage)
	group(f, inputGroup)
}

// manualDone is the flag that confirms manual stages.
const manualDone = "manual-done"

// targetFlags are the operator's choices.
func (o *options) targetFlags(f *pflag.FlagSet) {
	t := &o.Target
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "by-hand" { // until the release before
			name = manualDone
		}
		return pflag.NormalizedName(name)
	})
	f.StringVar(&t.EndState, "end-state", "", "provider after the switch: external or aws-override; aws-override keeps the names of nodes, and is the default where external is known to rename them, as in machine pools")
	f.StringVar(&t.Version, "target-version", "", "release to upgrade to: in the switch if it is one minor later, else after the migration, one minor after the other")
	f.StringVar(&t.ChartVersion, "chart-version", "", "version of the chart (default "+ccm.DefaultVersion+", from Kubernetes 1.28 on "+ccm.LaterVersion+")")
	f.StringVar(&t.ChartRepo, "chart-repo", "", "repository of the chart (default "+aws.ChartRepository+")")
	f.StringVar(&t.ImageRepository, "ccm-image-repository", "", "repository of the cloud-controller-manager's image (default: the chart's)")
	f.StringVar(&t.ImageTag, "ccm-image-tag", "", "tag of that image (default: the one tested with the cluster's minor; known for "+knownImages()+")")
	pathFlags(f, t)
	f.StringVar(&t.LeaderMigrationConfig, "leader-migration-config", "", "default: the managers use their default configuration; generate: each gets its own LeaderMigrationConfiguration, which images of 1.28 and later require")
	f.StringVar(&t.LeaseName, "lease-name", "", "name of the migration lease (default "+transform.DefaultLease+"); another name requires --leader-migration-config generate")
	f.StringVar(&t.RBAC, "rbac", transform.RBACRole, "manifests: grant permission on the migration lease with a new Role and RoleBinding (role), or with the published patches, which replace the rules of the bootstrap roles (patch)")
	f.BoolVar(&t.NodeIPAM, "nodeipam", false, "manifests: also move the nodeipam controller to the cloud-controller-manager; that of AWS does not have it")
	f.StringVar(&t.Cordon, "cordon", transform.CordonAuto, "cordon control planes during the switch: auto, always, never")
	f.StringVar(&t.RancherVersion, "rancher-version", "", "Rancher that will apply the change (default: that of a live cluster): rules about its webhook, its interface and RKE clusters depend on it")
	f.StringVar(&t.RKEVersion, "rke-version", "", "RKE that will apply it: 1.4.15, 1.5.0 and later know external-aws")
	f.StringArrayVar(&t.ManualDone, manualDone, nil, "a manual stage that is done (repeatable)")
	f.StringArrayVar(&t.Accept, "accept", nil, "accept the errors of a rule (repeatable); rke-lm rules lists the rules, and rke-lm rules RULE shows when")
	group(f, choiceGroup)
}

// pathFlags choose the stages of a migration, and with them what has to hold after each.
func pathFlags(f *pflag.FlagSet, t *transform.Target) {
	f.BoolVar(&t.KeepLeaderMigration, "keep-leader-migration", false, "keep leader migration enabled at the end")
	f.BoolVar(&t.NoLeaderMigration, "no-leader-migration", false, "migrate without leader migration: chart, switch, verify")
	f.BoolVar(&t.ShortLeases, "short-leases", false, "shorten the gaps of the migration with shorter timings of the managers' leases; see background.md")
	group(f, choiceGroup)
}

func (o *options) outputFlag(c *cobra.Command, formats ...string) {
	c.Flags().StringVarP(&o.OutputFormat, "output", "o", formats[0], "output format: "+strings.Join(formats, ", "))
	oneOf(c.Flags(), "output", formats)
	if slices.Contains(formats, "markdown") {
		c.Flags().IntVar(&o.MaxBytes, "max-bytes", report.DefaultMaxBytes, "most bytes of -o markdown; details that do not fit are left out")
	}
}

// The annotations of a flag with the values that a shell offers for it, and of one that takes no others.
const (
	valuesOf = "values"
	noOther  = "no other"
)

// oneOf offers fixed values for a flag, which takes no others.
func oneOf(f *pflag.FlagSet, flag string, values []string) {
	f.SetAnnotation(flag, valuesOf, values) // as the next one, it fails only for a flag that does not exist
	f.SetAnnotation(flag, noOther, nil)
}

// checkValues refuses values that a flag does not take.
func (o *options) checkValues(f *pflag.FlagSet) (err error) {
	f.Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if _, is := f.Annotations[noOther]; is && err == nil && (value != "" || f.DefValue != "") {
			err = run.CheckOneOf(f.Name, value, f.Annotations[valuesOf]...)
		}
	})
	if f.Changed("short-leases") && !o.Target.ShortLeases {
		o.Target.CloudLease = leadermigration.DefaultTimings.LeaseDuration // as an undo needs to know
	}
	wide := o.OutputFormat == "wide"
	if wide {
		o.OutputFormat = "text"
	}
	if o.noColor {
		o.color = report.ColorNever
	}
	o.Palette, o.ErrPalette = report.NewPalette(o.Out, o.color, wide), report.NewPalette(o.Err, o.color, wide)
	if o.MaxBytes < 0 {
		return fmt.Errorf("--max-bytes %d is negative; use a number of bytes, such as %d", o.MaxBytes, report.DefaultMaxBytes)
	}
	return err
}

func formatNames() []string {
	return lists.Map(formats(), func(d transform.Format) string { return d.Name })
}

// everyOutputFormat are those of verbs that find something.
var everyOutputFormat = slices.Concat([]string{"text", "json", "yaml"}, report.OutputFormats)

// verboseFlag is that of verbs with outcomes.
func (o *options) verboseFlag(f *pflag.FlagSet, with string) {
	f.BoolVarP(&o.verbose, "verbose", "v", false, with+"print a line for each cluster, not one for all with the same result")
}

// The values of --dry-run, which needs none: client prints the diff, server lets the API server do all but keep the
// change.
const (
	onClient = "client"
	onServer = "server"
)

// rewriteFlags are those of verbs that write files.
func (o *options) rewriteFlags(c *cobra.Command, files *clusters.Rewriter, server *bool) {
	files.Out = o.Data
	c.Flags().BoolFunc("dry-run", "print the diff and write nothing; =server also lets the API server of a Rancher check the change", func(value string) error {
		switch value {
		case onClient, onServer, "true":
			files.DryRun, *server = true, value == onServer
		case "false", "none":
			files.DryRun, *server = false, false
		default:
			return errors.New("use client or server")
		}
		return nil
	})
	c.Flags().Lookup("dry-run").DefValue = "false"
	c.Flags().BoolVar(&files.Print, "stdout", false, "print the file instead of writing it")
	c.MarkFlagsMutuallyExclusive("dry-run", "stdout")
	o.verboseFlag(c.Flags(), "")
}

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

// checkGroups reports flags that exclude each other, and those of which one is required, before cobra does: it keeps
// such groups in annotations.
func checkGroups(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		for _, group := range f.Annotations["cobra_annotation_mutually_exclusive"] {
			if set := inGroup(flags, group, true); err == nil && len(set) > 1 {
				err = fmt.Errorf("%s cannot be used together; use one of them", strings.Join(set, " and "))
			}
		}
		for _, group := range f.Annotations["cobra_annotation_one_required"] {
			if missing := inGroup(flags, group, false); err == nil && len(missing) == len(strings.Fields(group)) {
				err = fmt.Errorf("a flag is missing; use %s", strings.Join(missing, " or "))
			}
		}
	})
	return err
}

// inGroup are the flags of a group that are set, or not.
func inGroup(flags *pflag.FlagSet, group string, set bool) []string {
	return lists.Found(strings.Fields(group), func(name string) (string, bool) { return "--" + name, flags.Changed(name) == set })
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

// configFromBase is the annotation of a verb that reads the configuration of a commit.
const configFromBase = "configuration from the base"

// configure reads the configuration file, that of the flag or the one that counts in the
// current folder for verbs that have choices, and sets its choices.
func (o *options) configure(flags *pflag.FlagSet) (err error) {
	known, file := choiceKinds(), o.config
	uses := func(name string) bool { return flags.Lookup(name) != nil }
	if file == "" && slices.ContainsFunc(lists.Keys(known), uses) {
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
