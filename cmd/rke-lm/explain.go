// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/clusters"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// explainOptions are the flags of explain.
type explainOptions struct {
	*options
	key  string
	diff string
}

func newExplain(o *options) *cobra.Command {
	e := &explainOptions{options: o}
	c := &cobra.Command{
		Use:   "explain PATH...",
		Short: "Show what each machine class gets, and which line sets it",
		Example: `  rke-lm explain clusters/harbour.yaml
  rke-lm explain --key kube-controller-manager-arg clusters/harbour.yaml
  rke-lm explain --diff switch-to-external clusters/harbour.yaml
  rke-lm explain --context rancher --cluster c-m-8kqlhbsd`,
		RunE: func(c *cobra.Command, args []string) error { return e.run(c.Context(), args) },
	}
	o.fileFlags(c.Flags())
	o.liveFlags(c)
	o.targetFlags(c.Flags())
	o.outputFlag(c, "text", "json", "yaml")
	c.Flags().StringVar(&e.key, "key", "", "show this key only")
	c.Flags().StringVar(&e.diff, "diff", "", "show the changes of this stage")
	oneOf(c, "diff", stages.Names())
	return c
}

func (e *explainOptions) run(ctx context.Context, paths []string) error {
	if e.diff != "" && e.output != "text" {
		return errors.New("--diff is text; remove -o json, or compare two outputs of explain -o json")
	}
	results, err := each(ctx, e.options, paths, e.explain)
	if err != nil {
		return err
	}
	all := e.collect()
	list := outputs.EffectiveConfigs{APIVersion: outputs.APIVersion, Kind: "EffectiveConfig", Clusters: []outputs.EffectiveConfig{}}
	for _, r := range results {
		if r.made != nil {
			list.Clusters = append(list.Clusters, r.made.config)
			if err := e.show(r.made); err != nil {
				return err
			}
		}
		all.fail(r.Err)
	}
	if list.Errors = all.errors; e.output != "text" {
		if err := e.dump(list); err != nil {
			return err
		}
	}
	return withCode(all.code)
}

// explained is what the machines of a cluster get, or what a stage changes of it.
type explained struct {
	config outputs.EffectiveConfig
	diffs  []string
	note   string // where there is nothing to show
}

// explain fails for a key that no release has.
func (e *explainOptions) explain(f clusters.Cluster, t transform.Target) (*explained, error) {
	if e.diff != "" {
		return e.compare(f, t)
	}
	config, err := e.effective(f.Distro, f.Docs, t)
	if err != nil {
		return nil, err
	}
	x := &explained{config: config}
	if e.key != "" && !slices.ContainsFunc(config.Classes, outputs.Class.Any) {
		if err := checkOneOf("key", e.key, f.Distro.Keys()...); err != nil {
			return nil, err
		}
		x.note = fmt.Sprintf("%s: %s/%s: %s is not set for any class", config.Source.File, config.Namespace, config.Name, e.key)
	}
	return x, notToMigrate(f, t)
}

// notToMigrate reports what every verb says of a cluster that is not to be migrated; what its
// machines get is shown all the same.
func notToMigrate(f clusters.Cluster, t transform.Target) error {
	_, err := f.Distro.Open(f.Docs, t)
	if len(transform.NotMigratableIn(err)) > 0 {
		return err
	}
	return nil
}

// show prints what a cluster's machines get, or what a stage changes of it.
func (e *explainOptions) show(x *explained) error {
	if x.note != "" {
		fmt.Fprintln(e.err, x.note)
	}
	for _, d := range x.diffs {
		outputs.WriteDiff(e.out, e.palette(e.out), d)
	}
	if e.diff != "" || e.output != "text" {
		return nil
	}
	b := bufio.NewWriter(e.out)
	outputs.WriteEffective(b, e.palette(e.out), x.config)
	return b.Flush()
}

func (e *explainOptions) effective(d transform.Distro, docs []*yamledit.Document, t transform.Target) (outputs.EffectiveConfig, error) {
	id := d.Identify(docs[0])
	config := outputs.EffectiveConfig{
		Name: id.Name, Namespace: id.Namespace, Distro: d.Name,
		Source: outputs.SourceOf(docs[0]),
	}
	classes, err := d.Explain(docs, t)
	if err == nil && len(classes) == 0 {
		return config, &failure{code: exitcode.Refused, err: docs[0].Root().Errorf("there is nothing to explain: every machine of an "+strings.ToUpper(d.Name)+" cluster gets the configuration in the file", "read the file, or see the diffs of plan")}
	}
	for _, c := range classes {
		config.Classes = append(config.Classes, outputs.NewClass(c, e.key))
	}
	return config, err
}

// compare finds a stage's effect on every class.
func (e *explainOptions) compare(f clusters.Cluster, t transform.Target) (*explained, error) {
	p, err := transform.BuildFor(f.Distro, f.Docs, t, transform.Choice{Stage: e.diff})
	if err != nil {
		return nil, err
	}
	step, err := p.Named(e.diff)
	if err != nil {
		return nil, err
	}
	before, err := e.effective(f.Distro, step.Before(), t)
	if err != nil {
		return nil, err
	}
	after, err := e.effective(f.Distro, step.After(), t)
	if err != nil {
		return nil, err
	}
	x := &explained{}
	for i, c := range before.Classes {
		name := fmt.Sprintf("%s/%s class %s", before.Namespace, before.Name, c.Name)
		if d := udiff.Unified(name+" before "+e.diff, name+" after "+e.diff, c.Lines(), after.Classes[i].Lines()); d != "" {
			x.diffs = append(x.diffs, d)
		}
	}
	if len(x.diffs) == 0 {
		x.note = fmt.Sprintf("%s: %s changes nothing that reaches a machine", f.Docs[0].File(), e.diff)
	}
	return x, nil
}
