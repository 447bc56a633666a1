// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/run"
	lm "github.com/rke-lm/rke-lm/transform/leadermigration"
)

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
	oneOf(c, "component", []string{lm.Manager, lm.CloudManager})
	complete(c, "form", lm.Forms())
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
