// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Explain finds what machines get.
type Explain struct {
	Options
	Key  string // the only one; "" for all
	Diff string // the stage whose changes are found instead
}

// Run explains every cluster.
func (e Explain) Run(ctx context.Context) ([]report.Explained, error) {
	results, err := Each(ctx, e.Options, e.cluster)
	return lists.Map(results, func(r Result[report.Explained]) (x report.Explained) {
		if r.Made != nil {
			x = *r.Made
		}
		x.Err = r.Err
		return x
	}), err
}

func (e Explain) cluster(f clusters.Cluster, t transform.Target) (*report.Explained, error) {
	if e.Diff != "" {
		return e.compare(f, t)
	}
	config, err := e.effective(f.Format, f.Docs, t)
	if err != nil {
		return nil, err
	}
	x := &report.Explained{Config: config}
	if e.Key != "" && !slices.ContainsFunc(config.Classes, report.Class.Any) {
		if f.Format.Keys == nil { // those of arguments are not listed
			return x, nil
		}
		if err := CheckOneOf("key", e.Key, f.Format.Keys()...); err != nil {
			return nil, err
		}
		x.Note = fmt.Sprintf("%s: %s/%s: %s is not set for any class", config.Source.File, config.Namespace, config.Name, e.Key)
	}
	// Every verb says so of a cluster that is not to be migrated; what its machines get is shown all the same.
	if _, err := f.Format.Open(f.Docs, t); len(transform.NotMigratableIn(err)) > 0 {
		return x, err
	}
	return x, nil
}

func (e Explain) effective(d transform.Format, docs []*yamledit.Document, t transform.Target) (report.EffectiveConfig, error) {
	id := d.Identify(docs[0])
	config := report.EffectiveConfig{
		Name: id.Name, Namespace: id.Namespace, Format: d.Name,
		Source: report.SourceOf(docs[0]),
	}
	classes, err := d.Classes(docs, t)
	if err == nil && len(classes) == 0 {
		return config, transform.WithExitCode(transform.ExitRefused, docs[0].Root().Errorf("there is nothing to explain: every machine of an "+strings.ToUpper(d.Name)+" cluster gets the configuration in the file", "read the file, or see the diffs of plan"))
	}
	config.Classes = lists.Map(classes, func(c transform.MachineClass) report.Class { return report.NewClass(c, e.Key) })
	return config, err
}

// compare finds a stage's effect on every class.
func (e Explain) compare(f clusters.Cluster, t transform.Target) (*report.Explained, error) {
	p, err := plan.BuildFor(f.Format, f.Docs, t, plan.Choice{Stage: e.Diff})
	if err != nil {
		return nil, err
	}
	step, err := p.Named(e.Diff)
	if err != nil {
		return nil, err
	}
	var of [2]report.EffectiveConfig // before the stage, and after it
	for i, docs := range [][]*yamledit.Document{step.Before(), step.After()} {
		if of[i], err = e.effective(f.Format, docs, t); err != nil {
			return nil, err
		}
	}
	x := &report.Explained{}
	for i, c := range of[0].Classes {
		name := fmt.Sprintf("%s/%s class %s", of[0].Namespace, of[0].Name, c.Name)
		if d := udiff.Unified(name+" before "+e.Diff, name+" after "+e.Diff, c.Lines(), of[1].Classes[i].Lines()); d != "" {
			x.Diffs = append(x.Diffs, d)
		}
	}
	if len(x.Diffs) == 0 {
		x.Note = fmt.Sprintf("%s: %s changes nothing that reaches a machine", f.Docs[0].File(), e.Diff)
	}
	return x, nil
}
