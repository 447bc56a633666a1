// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	lm "github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// configOptions are the flags of leader-migration-config.
type configOptions struct {
	*options
	config lm.Config
	form   string
	lint   bool
}

// given is a configuration that was found in a file.
type given struct {
	root   yamledit.Node
	quotes []transform.Finding // about its text
}

func newLeaderMigrationConfig(o *options) *cobra.Command {
	m := &configOptions{options: o}
	c := &cobra.Command{
		Use:   "leader-migration-config --component NAME --kubernetes-version VERSION | --lint FILE...",
		Short: "Print or check a LeaderMigrationConfiguration",
		Long: `Print the LeaderMigrationConfiguration for a manager: the apiVersion and the lock
that its version supports, and its names of the controllers.

--lint checks existing ones: files with the configuration itself, or with a ConfigMap
with it. Without --component two configurations are those of the two managers, that
of kube-controller-manager first, and are compared with each other; for any other
number, only the checks that do not depend on the manager run.`,
		Example: `  rke-lm leader-migration-config --component kube-controller-manager --kubernetes-version v1.26
  rke-lm leader-migration-config --component cloud-controller-manager --kubernetes-version v1.26 --ccm-version v1.28.1
  rke-lm leader-migration-config --lint --kubernetes-version v1.26 kcm.conf ccm.conf`,
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
	case m.output != "text":
		return fmt.Errorf("-o %s requires --lint; add --lint, or remove -o", m.output)
	case m.config.Component == "":
		return errors.New("no component; add --component " + lm.Manager + " or " + lm.CloudManager)
	}
	m.config.Form = lm.Form(m.form)
	text, err := lm.Make(m.config)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(m.data(), text)
	return err
}

// lintFiles lints the configurations in files, and in the files of folders.
func (m *configOptions) lintFiles(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return errors.New("no path; use a file, a folder, or - for standard input")
	}
	all := m.collect()
	sources, err := source.Find(paths, m.in, source.Excluded{})
	all.fail(err)
	var configs []given
	for _, s := range sources {
		found, err := read(ctx, s)
		all.fail(err)
		configs = append(configs, found...)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.check(configs, all); err != nil {
		return err
	}
	return all.finish()
}

// read returns the configurations of a file; one that was named must hold one.
func read(ctx context.Context, s source.Source) ([]given, error) {
	var all []given
	text, err := s.Read()
	if err != nil {
		return nil, err
	}
	for c, err := range text.Documents() {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return all, err
		}
		if !bytes.Contains(c.Bytes, []byte(lm.Kind)) {
			continue
		}
		roots, quotes, err := lm.Read(c)
		for _, root := range roots {
			all, quotes = append(all, given{root, quotes}), nil
		}
		if err != nil {
			return all, err
		}
	}
	if s.Named && len(all) == 0 {
		err = exitcode.With(exitcode.Refused, fmt.Errorf("%s: it has no %s; use a file with one, or a ConfigMap with one", s.Name, lm.Kind))
	}
	return all, err
}

// check checks each configuration, and two against each other.
func (m *configOptions) check(configs []given, all *collector) error {
	sides := []string{m.config.Component}
	if m.config.Component == "" && len(configs) == 2 {
		sides = []string{lm.Manager, lm.CloudManager}
	}
	for i, g := range configs {
		by, err := m.reader(sides[i%len(sides)])
		if err != nil {
			return err
		}
		found := slices.Concat(g.quotes, lm.Lint(g.root, by))
		if len(sides) == 2 && i == 1 {
			found = append(found, lm.LintBoth(configs[0].root, g.root)...)
		}
		slices.SortStableFunc(found, func(a, b transform.Finding) int { return a.Line - b.Line })
		all.show("", "", 0, found, 0)
	}
	return nil
}

// reader returns what is known of the manager on a side. A version that was not
// given, and that of a side that no one named, is not known.
func (m *configOptions) reader(side string) (lm.Reader, error) {
	c := m.config
	c.Component = side
	if side != "" && (c.Kubernetes != "" || side == lm.CloudManager && c.CCM != "") {
		return c.Reader()
	}
	return lm.Reader{Component: side, Lease: c.Lease, NodeIPAM: c.NodeIPAM}, nil
}
