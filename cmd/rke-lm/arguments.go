// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/observation"
	"github.com/rke-lm/rke-lm/transform/live/ownership"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// givenArguments are those of a kube-controller-manager that is no pod, by files, or else
// by the cluster's object on a Rancher. They are read again and again, and change
// while a stage rolls out.
type givenArguments struct {
	files  []string
	server *rancher.Server // nil without an object
	object rancher.Object

	versions map[string]*ownership.Versions
	from     []string // where those that were used are written
}

// of returns the arguments that are possible next to these managers; none where
// kube-controller-manager is a pod, which shows its own.
func (a *givenArguments) of(ctx context.Context, managers []observation.Manager) ([]ownership.Given, error) {
	if slices.ContainsFunc(managers, func(m observation.Manager) bool { return m.Component == observation.KubeManager }) {
		return nil, nil
	}
	for _, file := range a.files {
		if given, err := fromFile(file); err == nil { // while it is being written, what it said counts
			a.version(file).Written(given)
		}
	}
	if len(a.files) == 0 && a.server != nil {
		if err := a.ask(ctx); err != nil {
			return nil, err
		}
	}
	var list []ownership.Given
	for _, of := range slices.Sorted(maps.Keys(a.versions)) {
		list = append(list, a.versions[of].List()...)
	}
	for _, g := range list {
		if !slices.Contains(a.from, g.From) {
			a.from = append(a.from, g.From)
		}
	}
	return list, nil
}

func (a *givenArguments) version(of string) *ownership.Versions {
	if a.versions == nil {
		a.versions = map[string]*ownership.Versions{}
	}
	if a.versions[of] == nil {
		a.versions[of] = &ownership.Versions{}
	}
	return a.versions[of]
}

// ask reads the object again.
func (a *givenArguments) ask(ctx context.Context) error {
	now, err := a.server.Get(ctx, a.object)
	if err != nil {
		return err
	}
	engine, err := rollout.ReadEngine(now.Raw)
	if err != nil {
		return err
	}
	applied, open, done, err := engineArguments(engine, now.Title())
	if err == nil && done {
		a.version(now.Title()).Served(applied, open...)
	}
	return err
}

// check reads the files once, before anything else.
func (a *givenArguments) check() error {
	for _, file := range a.files {
		if _, err := fromFile(file); err != nil {
			return err
		}
	}
	return nil
}

// fromFile reads the one RKE cluster in a file.
func fromFile(file string) (ownership.Given, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return ownership.Given{}, fmt.Errorf("--arguments-from: %w; use the cluster.yml of RKE", err)
	}
	var clusters []*yamledit.Document
	for _, chunk := range yamledit.Split(file, text) {
		doc, err := yamledit.Parse(chunk)
		if err != nil {
			return ownership.Given{}, err
		}
		if isEngineFile(doc) {
			clusters = append(clusters, doc)
		}
	}
	if len(clusters) != 1 {
		return ownership.Given{}, fmt.Errorf("--arguments-from: %s has %d RKE clusters; use a file with one, such as the cluster.yml of RKE", file, len(clusters))
	}
	return fileArguments(file, clusters[0])
}

// follow connects to the cluster of the flags, and keeps its object where RKE made it.
func (a *givenArguments) follow(ctx context.Context, c *run.Connector) (*observe.Observer, error) {
	c.Waits = true
	observer, server, object, err := c.Reach(ctx, 0)
	if err == nil && object.Kind == transform.Management {
		a.server, a.object = server, object
	}
	return observer, err
}
