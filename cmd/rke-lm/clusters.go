// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// finder finds the clusters that the flags mean.
func (o *options) finder() clusters.Finder {
	known := slices.DeleteFunc(slices.Clone(distros()), func(d transform.Distro) bool { return o.distro != "" && d.Name != o.distro })
	only := ""
	switch {
	case o.hostNames != "":
		only = run.HostNames
	case o.values != "":
		only = run.CCMValues
	}
	return clusters.Finder{Distros: known, Forced: o.distro != "", SeparateDocuments: o.separate, Overlays: o.overlays, Excluded: o.excluded, Values: o.values, Only: only, Unknown: o.skipUnknown, Configs: o.hostNames != "" || o.choices.EndState == transform.EndStateExternal}
}

// found finds the clusters in the paths, or in the Rancher that the flags name, and the choices for them.
// It fails for a choice that is wrong.
func (o *options) found(ctx context.Context, paths []string) (run.Options, error) {
	target, err := o.target()
	if err != nil {
		return run.Options{}, err
	}
	defer o.progress.Start(ctx).End()
	o.progress.Reached("clusters", 0, 0)
	nodes, parsed := yamledit.Spent()
	found, err := o.find(ctx, paths)
	if err != nil {
		found = []clusters.Result{clusters.Failed(err)}
	}
	return run.Options{Finder: o.finder(), Found: found, Target: target, Progress: o.progress, Nodes: nodes, Parsed: parsed}, nil
}

// find finds the clusters.
func (o *options) find(ctx context.Context, paths []string) ([]clusters.Result, error) {
	if err := o.CheckPaths(paths); err != nil {
		return nil, err
	}
	if !o.Live() {
		if err := o.checkFiles(paths); err != nil {
			return nil, err
		}
		found := o.finder().Files(ctx, paths, o.in)
		if n := len(found.Saved); n > 0 {
			fmt.Fprintf(o.Err, "note: %d files of saved plans are not read, such as %s; apply them with --plan\n", n, found.Saved[0].Name)
		}
		if o.skipUnknown && len(found.Results) == 0 { // as in the files of a commit
			fmt.Fprintln(o.Err, "note: no cluster in these files")
		}
		return found.Results, nil
	}
	if err := o.checkLiveValues(); err != nil {
		return nil, err
	}
	server, err := o.Connect(run.RetryTime)
	if err != nil {
		return nil, err
	}
	return o.finder().Rancher(ctx, server, o.RancherVersion(ctx, server, o.choices.RancherVersion), o.Query()), nil
}

// checkFiles refuses to look for nothing.
func (o *options) checkFiles(paths []string) error {
	if len(paths) == 0 {
		return errors.New("no path; use a file, a folder, or - for standard input")
	}
	if o.distro != "" {
		return run.CheckOneOf("distro", o.distro, distroNames()...)
	}
	return nil
}

// What becomes of the file.
const (
	valuesInFiles = "values file with which helm installs the cloud-controller-manager of the one RKE cluster in PATH: the stages edit it as well, and their helm commands use it"
	valuesOfLive  = "values file with which helm installed the cloud-controller-manager of the RKE cluster, or will: helm gets a copy of it with what the migration requires"
)

func (o *options) valuesFlag(f *pflag.FlagSet, usage string) {
	defer group(f, inputGroup)()
	f.StringVar(&o.values, run.CCMValues, "", usage)
}

// checkLiveValues refuses host names and a values file next to clusters of a Rancher, unless there is one and the
// verb uses a copy.
func (o *options) checkLiveValues() error {
	switch {
	case o.hostNames != "" && o.Selector != "":
		return errors.New("--" + run.HostNames + " is of one cluster; use --cluster in place of --selector")
	case o.values == "":
		return nil
	case o.Selector != "":
		return errors.New("--" + run.CCMValues + " is of one cluster; use --cluster in place of --selector")
	case !o.copiesValues:
		return errors.New("--" + run.CCMValues + ": this command changes or checks files or objects, and a live cluster has no such file; name the file of the cluster, such as the output of kubectl get -o yaml, in place of --cluster")
	}
	return nil
}
