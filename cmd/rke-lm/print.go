// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	lm "github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	manifests "github.com/rke-lm/rke-lm/transform/manifest"
)

func newDeployment(o *options) *cobra.Command {
	var scaling manifests.Scaling
	c := &cobra.Command{
		Use:   "deployment PATH...",
		Short: "Make a Deployment of a static kube-controller-manager",
		Long: `Print a Deployment that runs the kube-controller-manager of a static pod, with
comments on what to do before you apply it. Several replicas make the change of the
leader faster; one of them is active at a time.

Keys and certificates come from Secrets, for which the comments have the commands,
or from the hosts of control planes; they are never part of an image.`,
		Example: `  rke-lm deployment /etc/kubernetes/manifests/kube-controller-manager.yaml
  rke-lm deployment --certificates host-path kube-controller-manager.yaml`,
		RunE: func(c *cobra.Command, args []string) error { return o.deployment(c.Context(), scaling, args) },
	}
	f := c.Flags()
	f.IntVar(&scaling.Replicas, "replicas", 2, "number of pods, at least 2: with one, the Deployment could not replace it")
	f.StringVar(&scaling.Certificates, "certificates", manifests.FromSecret, "source of keys and certificates: secret, so that the pods can run on any node, or host-path, on control-plane nodes")
	oneOf(c.Flags(), "certificates", []string{manifests.FromSecret, manifests.FromHostPath})
	return c
}

func (o *options) deployment(ctx context.Context, scaling manifests.Scaling, paths []string) error {
	if scaling.Replicas < 2 {
		return errors.New("--replicas: a Deployment with one kube-controller-manager cannot replace it, because nothing would create the new pod; use 2 or more")
	}
	o.Format, o.Finder.SeparateDocuments = manifests.Name, true
	results, err := run.Each(ctx, o.Search.Run(ctx, paths), func(f clusters.Cluster, _ transform.Target) (*manifests.Converted, error) {
		return manifests.Convert(f.Docs[0], scaling)
	})
	if err != nil {
		return err
	}
	all := o.collect("deployment")
	var printer clusters.Printer
	for _, r := range results {
		if r.Made != nil {
			if err := printer.Print(o.Data, []byte(r.Made.Text)); err != nil {
				return err
			}
			report.WriteFindings(o.Err, o.ErrPalette, r.Made.Findings, "")
		}
		all.Fail(r.Err)
	}
	return withCode(all.Code)
}

func newLeaderMigrationConfig(o *options) *cobra.Command {
	var config lm.Config
	var lint bool
	c := &cobra.Command{
		Use:   "leader-migration-config [--lint FILE...]",
		Short: "Print or check a LeaderMigrationConfiguration",
		Long: `Print the LeaderMigrationConfiguration for a manager: the apiVersion and the lock
that its version supports, and its names of the controllers.

--lint checks existing ones: files with the configuration itself, or with a ConfigMap
with it. Without --component two configurations are those of the two managers, that
of kube-controller-manager first, and are compared with each other; for any other
number, only the checks that do not depend on the manager run.`,
		Example: `  rke-lm leader-migration-config --kubernetes-version v1.26 \
      --component kube-controller-manager
  rke-lm leader-migration-config --lint kcm.conf ccm.conf`,
		RunE: func(c *cobra.Command, args []string) error {
			if lint {
				return o.lintConfigs(c.Context(), config, args)
			}
			return o.makeConfig(config, args)
		},
	}
	f := c.Flags()
	f.StringVar(&config.Component, "component", "", "manager that reads it: "+lm.Manager+", "+lm.CloudManager)
	f.StringVar(&config.Kubernetes, "kubernetes-version", "", "release of the cluster, such as v1.26")
	f.StringVar(&config.CCM, "ccm-version", "", "release of the cloud-controller-manager's image (default: the cluster's minor)")
	f.StringVar((*string)(&config.Form), "form", "", "initial, which names kube-controller-manager; target, which names cloud-controller-manager; or wildcard, which is valid for the whole migration (default wildcard if the manager supports it)")
	f.StringVar(&config.Lease, "lease-name", "", "name of the migration lease (default "+lm.Lease+")")
	f.BoolVar(&config.NodeIPAM, "nodeipam", false, "the provider's cloud-controller-manager implements Node IPAM; that of AWS does not")
	f.BoolVar(&lint, "lint", false, "check the configurations in the files")
	o.outputFlag(c, "text", "json", "yaml")
	oneOf(c.Flags(), "component", []string{lm.Manager, lm.CloudManager})
	c.Flags().SetAnnotation("form", valuesOf, lm.Forms())
	return c
}

// makeConfig prints a configuration.
func (o *options) makeConfig(config lm.Config, paths []string) error {
	switch {
	case len(paths) > 0:
		return errors.New("files are only for --lint; add --lint to check them")
	case o.OutputFormat != "text":
		return fmt.Errorf("-o %s requires --lint; add --lint, or remove -o", o.OutputFormat)
	case config.Component == "":
		return errors.New("no component; add --component " + lm.Manager + " or " + lm.CloudManager)
	}
	text, err := lm.Make(config)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(o.Data, text)
	return err
}

// lintConfigs lints the configurations in files, and in the files of folders.
func (o *options) lintConfigs(ctx context.Context, config lm.Config, paths []string) error {
	if len(paths) == 0 {
		return errors.New("no path; use a file, a folder, or - for standard input")
	}
	all := o.collect("lint")
	found, err := run.LintConfigs(ctx, config, paths, o.in)
	for _, of := range found {
		all.Checked(of)
	}
	if err != nil {
		return err
	}
	all.Finish()
	return withCode(all.Code)
}

func newRules(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "rules [RULE]",
		Short: "List the rules, or explain one",
		Long: `List the rules of all findings, or explain one of them: what it finds and for which
clusters, which stages its errors block, what happens otherwise and where that can be
read, how to correct it, and when it can be accepted with --accept.`,
		Example: `  rke-lm rules
  rke-lm rules node-rename
  rke-lm rules -o json`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errors.New(args[1] + ": rke-lm rules explains one rule; remove it")
			}
			list, err := run.Rules(formats(), args...)
			if err != nil {
				return err
			}
			if o.OutputFormat != "text" {
				return o.Dump(report.Rules{TypeMeta: report.Type("Rules"), Rules: list})
			}
			if len(args) > 0 {
				report.WriteRules(o.Out, o.Palette, list)
			} else {
				report.WriteRuleList(o.Out, o.Palette, list)
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return run.RuleNames(formats()), cobra.ShellCompDirectiveNoFileComp
		},
	}
	o.outputFlag(c, "text", "json", "yaml")
	return c
}

// version and commit are set by the linker.
var version, commit = "", ""

// build describes the program.
type build struct {
	report.TypeMeta
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Tables   facts  `json:"tables"`
}

// facts describes the tables of what Rancher gives the releases of RKE2.
type facts struct {
	Date   string `json:"date"`
	Newest string `json:"newestRelease"`
}

func newVersion(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noFiles,
		RunE: func(*cobra.Command, []string) error {
			if o.OutputFormat != "text" {
				return o.Dump(currentBuild())
			}
			fmt.Fprint(o.Out, currentBuild())
			return nil
		},
	}
	o.outputFlag(c, "text", "json", "yaml")
	return c
}

// String is what version and --version print.
func (b build) String() string {
	return fmt.Sprintf("rke-lm %s (%s, %s)\nRKE2 releases up to %s, Rancher metadata of %s\n", b.Version, b.Go, b.Platform, b.Tables.Newest, b.Tables.Date)
}

func currentBuild() build {
	b := build{TypeMeta: report.Type("Version"), Version: version, Revision: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Tables: releaseTables()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(b.Version, info.Main.Version)
	built, _ := lists.Find(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "vcs.revision" })
	b.Revision = cmp.Or(b.Revision, built.Value)
	return b
}
