// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/run"
	lm "github.com/rke-lm/rke-lm/transform/leadermigration"
)

// configOptions are the flags of leader-migration-config.
type configOptions struct {
	*options
	config lm.Config
	form   string
	lint   bool
}

func newLeaderMigrationConfig(o *options) *cobra.Command {
	m := &configOptions{options: o}
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
		RunE: func(c *cobra.Command, args []string) error { return m.run(c.Context(), args) },
	}
	f := c.Flags()
	f.StringVar(&m.config.Component, "component", "", "manager that reads it: "+lm.Manager+", "+lm.CloudManager)
	f.StringVar(&m.config.Kubernetes, "kubernetes-version", "", "release of the cluster, such as v1.26")
	f.StringVar(&m.config.CCM, "ccm-version", "", "release of the cloud-controller-manager's image (default: the cluster's minor)")
	f.StringVar(&m.form, "form", "", "initial, which names kube-controller-manager; target, which names cloud-controller-manager; or wildcard, which is valid for the whole migration (default wildcard if the manager supports it)")
	f.StringVar(&m.config.Lease, "lease-name", "", "name of the migration lease (default "+lm.Lease+")")
	f.BoolVar(&m.config.NodeIPAM, "nodeipam", false, "the provider's cloud-controller-manager implements Node IPAM; that of AWS does not")
	f.BoolVar(&m.lint, "lint", false, "check the configurations in the files")
	o.outputFlag(c, "text", "json", "yaml")
	oneOf(c, "component", []string{lm.Manager, lm.CloudManager})
	complete(c, "form", lm.Forms())
	return c
}

func (m *configOptions) run(ctx context.Context, paths []string) error {
	if m.lint {
		return m.lintFiles(ctx, paths)
	}
	switch {
	case len(paths) > 0:
		return errors.New("files are only for --lint; add --lint to check them")
	case m.Format != "text":
		return fmt.Errorf("-o %s requires --lint; add --lint, or remove -o", m.Format)
	case m.config.Component == "":
		return errors.New("no component; add --component " + lm.Manager + " or " + lm.CloudManager)
	}
	m.config.Form = lm.Form(m.form)
	text, err := lm.Make(m.config)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(m.Data, text)
	return err
}

// lintFiles lints the configurations in files, and in the files of folders.
func (m *configOptions) lintFiles(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return errors.New("no path; use a file, a folder, or - for standard input")
	}
	all := m.collect("lint")
	found, err := run.LintConfigs(ctx, m.config, paths, m.in)
	for _, of := range found {
		all.Checked(of)
	}
	if err != nil {
		return err
	}
	return cmp.Or(all.Finish(), withCode(all.Code))
}
