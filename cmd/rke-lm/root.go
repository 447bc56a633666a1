// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// options are the choices that several verbs share.
type options struct {
	streams
	color   string
	noColor bool
	verbose bool // a line for each cluster
	report.Output
	run.Search

	given       *pflag.FlagSet  // of the verb that runs
	config      string          // file with choices
	configured  map[string]bool // flags that it has set
	exclude     []string        // patterns of files that are not read
	excludeFrom string          // the folder that they start at; "" for the current one
}

func newRoot(s streams) *cobra.Command {
	o := &options{streams: s, Output: report.Output{Out: s.out, Err: s.err, Data: s.data}}
	o.Search = run.Search{Connector: run.Connector{Network: s.network, Notes: s.err}, Distros: distros(), In: s.in, Options: run.Options{Progress: s.progress, Finder: clusters.Finder{Overlays: &source.Overlays{}}}}
	root := &cobra.Command{
		Use:   "rke-lm",
		Short: "Migrate a Rancher cluster from the in-tree AWS cloud provider, stage by stage",
		Long: `rke-lm plans, applies and proves the leader migration of a Rancher cluster from
the in-tree AWS cloud provider to the external aws-cloud-controller-manager.

It reads the cluster's own YAML, from files or from a live Rancher, shows every
stage as a small diff, and changes only what the stage promises.`,
		Args:          unknownCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	printVersion := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(c *cobra.Command, _ []string) error {
		if !*printVersion {
			return c.Help()
		}
		fmt.Fprint(o.Out, currentBuild())
		return nil
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.PersistentFlags().StringVar(&o.color, "color", report.ColorAuto, "colors in the output: auto, always, never (also: NO_COLOR, CLICOLOR_FORCE)")
	oneOf(root, "color", []string{report.ColorAuto, report.ColorAlways, report.ColorNever})
	root.PersistentFlags().BoolVar(&o.noColor, "no-color", false, "the same as --color never")
	root.PersistentFlags().StringVar(&o.config, "config", "", "YAML file with migration options, such as end-state: external; flags on the command line take precedence")
	helpFlags(root.PersistentFlags())
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if c.Name() == cobra.ShellCompRequestCmd {
			o.completeFlags(root)
			return nil
		}
		o.given = c.Flags()
		o.UserAgent = programName + "/" + currentBuild().Version
		if err := cmp.Or(checkGiven(c.Flags()), checkGroups(c.Flags())); err != nil {
			return err
		}
		if err := o.checkValues(c.Flags()); err != nil {
			return err
		}
		if _, later := c.Annotations[configFromBase]; later {
			return nil
		}
		if err := o.configure(c.Flags()); err != nil {
			return err
		}
		return o.leaveOut()
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newPlan(o), newApply(o), newExplain(o), newLint(o), newReview(o), newVerify(o), newLeaders(o), newStatus(o),
		newMigrate(o), newRollback(o), newController(o),
		newDeployment(o), newLeaderMigrationConfig(o), newRules(o), newVersion(o), newManual(o))
	call(root, calledAs(os.Args[0]))
	root.SetUsageFunc(usage)
	root.SetHelpFunc(help)
	addCommands(root)
	return root
}

// inputFlags are those of every verb that reads clusters.
func (o *options) inputFlags(f *pflag.FlagSet) {
	defer group(f, inputGroup)()
	f.StringVar(&o.Distro, "distro", "", "read every document as this distro instead of detecting it: "+strings.Join(distroNames(), ", "))
	f.StringVar(&o.HostNames, run.HostNames, "", "file with a line NODE HOSTNAME for each Node of the one cluster, from the command in the guide: where all are equal, external keeps the names")
	f.StringVar(&o.Target.AssumeVersion, "assume-version", "", "release for files without one, such as v1.26.15+rke2r1, v1.26.15-rancher1-1 or v1.26.15")
}

// excludeFlag is that of verbs that search folders or commits.
func (o *options) excludeFlag(f *pflag.FlagSet) {
	defer group(f, inputGroup)()
	f.StringArrayVar(&o.exclude, "exclude", nil, "leave out files and folders; a name, or a path with * and ** (repeatable)")
}

// leaveOut checks the patterns of what is left out.
func (o *options) leaveOut() (err error) {
	if o.Finder.Excluded, err = source.Exclude(o.excludeFrom, o.exclude); err != nil {
		return fmt.Errorf("--exclude: %w", err)
	}
	return nil
}

// fileFlags are those of verbs that read files.
func (o *options) fileFlags(f *pflag.FlagSet) {
	defer group(f, inputGroup)()
	o.inputFlags(f)
	o.valuesFlag(f, valuesInFiles)
	o.excludeFlag(f)
	f.BoolVar(&o.Finder.Unknown, "skip-unknown", false, "skip files without a cluster also if they are named, as with $(git ls-files '*.yaml')")
}

// What becomes of the file.
const (
	valuesInFiles = "values file with which helm installs the cloud-controller-manager of the one RKE cluster in PATH: the stages edit it as well, and their helm commands use it"
	valuesOfLive  = "values file with which helm installed the cloud-controller-manager of the RKE cluster, or will: helm gets a copy of it with what the migration requires"
)

func (o *options) valuesFlag(f *pflag.FlagSet, usage string) {
	defer group(f, inputGroup)()
	f.StringVar(&o.Finder.Values, run.CCMValues, "", usage)
}

// manualDone is the flag that confirms manual stages.
const manualDone = "manual-done"

// targetFlags are the operator's choices.
func (o *options) targetFlags(f *pflag.FlagSet) {
	t := &o.Target
	defer group(f, choiceGroup)()
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "by-hand" { // until the release before
			name = manualDone
		}
		return pflag.NormalizedName(name)
	})
	f.StringVar(&t.EndState, "end-state", "", "provider after the switch: external or aws-override; aws-override keeps the names of nodes, and is the default where external is known to rename them, as in machine pools")
	f.StringVar(&t.Version, "target-version", "", "release to upgrade to: in the switch if it is one minor later, else after the migration, one minor after the other")
	f.StringVar(&t.ChartVersion, "chart-version", "", "version of the chart (default "+ccm.DefaultVersion+", from Kubernetes 1.28 on "+ccm.LaterVersion+")")
	f.StringVar(&t.ChartRepo, "chart-repo", "", "repository of the chart (default "+ccm.Repository+")")
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
}

// pathFlags choose the stages of a migration, and with them what has to hold after each.
func pathFlags(f *pflag.FlagSet, t *transform.Target) {
	defer group(f, choiceGroup)()
	f.BoolVar(&t.KeepLeaderMigration, "keep-leader-migration", false, "keep leader migration enabled at the end")
	f.BoolVar(&t.NoLeaderMigration, "no-leader-migration", false, "migrate without leader migration: chart, switch, verify")
}

func (o *options) outputFlag(c *cobra.Command, formats ...string) {
	c.Flags().StringVarP(&o.Format, "output", "o", formats[0], "output format: "+strings.Join(formats, ", "))
	oneOf(c, "output", formats)
	if slices.Contains(formats, "markdown") {
		c.Flags().IntVar(&o.MaxBytes, "max-bytes", report.DefaultMaxBytes, "most bytes of -o markdown; details that do not fit are left out")
	}
}

// valuesOf is the annotation of a flag with the values that it takes.
const valuesOf = "values"

// noOther is the annotation of a flag that takes no other values.
const noOther = "no other"

// oneOf offers fixed values for a flag, which takes no others.
func oneOf(c *cobra.Command, flag string, values []string) {
	complete(c, flag, values)
	c.Flag(flag).Annotations[noOther] = nil
}

// checkValues refuses values that a flag does not take.
func (o *options) checkValues(f *pflag.FlagSet) (err error) {
	f.Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if _, is := f.Annotations[noOther]; is && err == nil && (value != "" || f.DefValue != "") {
			err = run.CheckOneOf(f.Name, value, f.Annotations[valuesOf]...)
		}
	})
	wide := o.Format == "wide"
	if wide {
		o.Format = "text"
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

// complete offers fixed values for a flag.
func complete(c *cobra.Command, flag string, values []string) {
	f := c.Flag(flag)
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[valuesOf] = values
}

func distroNames() []string {
	return lists.Map(distros(), func(d transform.Distro) string { return d.Name })
}

// newResults is the list of what a verb finds, with the rules of all tables; of one that several distros have that of
// the first.
func newResults(verb string) *report.Results {
	return &report.Results{Verb: verb, Version: currentBuild().Version, Rules: run.KnownRules(distros())}
}

// everyFormat are those of verbs that find something.
var everyFormat = slices.Concat([]string{"text", "json", "yaml"}, report.Formats)

// collect collects the results of a verb about the clusters in paths, or those that the flags name.
func (o *options) collect(verb string, paths ...string) *report.Collector {
	all := report.NewCollector(&o.Output, newResults(verb))
	all.Verbose = o.verbose
	all.Paths = paths
	all.Flags, all.Server, all.Selected = o.repeated()
	return all
}

// verboseFlag is that of verbs with outcomes.
func (o *options) verboseFlag(f *pflag.FlagSet, with string) {
	f.BoolVarP(&o.verbose, "verbose", "v", false, with+"print a line for each cluster, not one for all with the same result")
}
