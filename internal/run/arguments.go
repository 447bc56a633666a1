// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Engine reads the arguments of a kube-controller-manager off what an engine was given that runs it outside of pods.
type Engine struct {
	// Owns reports whether a document is that, and Arguments reads it.
	Owns      func(*yamledit.Document) bool
	Arguments func(file string, doc *yamledit.Document) (check.Given, error)
	// Applied reads an object: the arguments that were applied, others that are possible, and whether any were applied.
	Applied func(e *rollout.Engine, title string) (applied check.Given, open []check.Given, done bool, err error)
}

// Arguments are those of a kube-controller-manager that is no pod, by files, or else
// by the cluster's object on a Rancher. They are read again and again, and change
// while a stage rolls out.
type Arguments struct {
	Engine Engine
	Files  []string
	Server *rancher.Server
	Object rancher.Object // of any kind

	versions map[string]check.Versions
	from     []string // where those that were used are written
}

// Of returns the arguments that are possible next to these managers; none where
// kube-controller-manager is a pod, which shows its own.
func (a *Arguments) Of(ctx context.Context, managers []observed.Manager) ([]check.Given, error) {
	if slices.ContainsFunc(managers, func(m observed.Manager) bool { return m.Component == observed.KubeManager }) {
		return nil, nil
	}
	if a.versions == nil {
		a.versions = map[string]check.Versions{}
	}
	for _, file := range a.Files {
		if given, err := a.fromFile(file); err == nil { // while it is being written, what it said counts
			a.versions[file] = a.versions[file].Written(given)
		}
	}
	if len(a.Files) == 0 && a.Object.Kind == transform.Management {
		if err := a.ask(ctx); err != nil {
			return nil, err
		}
	}
	list := lists.Flat(slices.Sorted(maps.Keys(a.versions)), func(of string) []check.Given { return a.versions[of] })
	a.from = lists.Distinct(append(a.from, lists.Map(list, func(g check.Given) string { return g.From })...))
	return list, nil
}

// ask reads the object again.
func (a *Arguments) ask(ctx context.Context) error {
	now, err := a.Server.Get(ctx, a.Object)
	if err != nil {
		return err
	}
	engine, err := rollout.ReadEngine(now.Raw)
	if err != nil {
		return err
	}
	applied, open, done, err := a.Engine.Applied(engine, now.Title())
	if err == nil && done {
		a.versions[now.Title()] = a.versions[now.Title()].Served(applied, open...)
	}
	return err
}

// fromFile reads the one RKE cluster in a file.
func (a *Arguments) fromFile(file string) (check.Given, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return check.Given{}, fmt.Errorf("--arguments-from: %w; use the cluster.yml of RKE", err)
	}
	var clusters []*yamledit.Document
	for _, chunk := range yamledit.Split(file, text) {
		doc, err := yamledit.Parse(chunk)
		if err != nil {
			return check.Given{}, err
		}
		if a.Engine.Owns(doc) {
			clusters = append(clusters, doc)
		}
	}
	if len(clusters) != 1 {
		return check.Given{}, fmt.Errorf("--arguments-from: %s has %d RKE clusters; use a file with one, such as the cluster.yml of RKE", file, len(clusters))
	}
	return a.Engine.Arguments(file, clusters[0])
}
