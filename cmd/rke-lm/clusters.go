// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ranchers"
)

// finder finds the clusters that the flags mean.
func (o *options) finder() clusters.Finder {
	known := slices.DeleteFunc(slices.Clone(distros()), func(d transform.Distro) bool { return o.distro != "" && d.Name != o.distro })
	only := ""
	switch {
	case o.hostNames != "":
		only = hostNames
	case o.values != "":
		only = ccmValues
	}
	return clusters.Finder{Distros: known, Forced: o.distro != "", SeparateDocuments: o.separate, Overlays: o.overlays, Excluded: o.excluded, Values: o.values, Only: only, Unknown: o.skipUnknown, Configs: o.hostNames != "" || o.choices.EndState == transform.EndStateExternal}
}

// result is what a verb makes of a cluster, or an error, or both; or what else was found.
type result[T any] struct {
	clusters.Result
	target transform.Target // for the cluster
	made   *T               // nil for nothing
}

// each calls work for every cluster in the paths, or in the Rancher that the flags name, on all cores.
// The results are in the order of the clusters. It fails for a choice that is wrong, and if ctx ends.
func each[T any](ctx context.Context, o *options, paths []string, work func(clusters.Cluster, transform.Target) (*T, error)) ([]result[T], error) {
	target, err := o.target()
	if err != nil {
		return nil, err
	}
	defer o.progress.Start(ctx)()
	o.progress.Reached("clusters", 0, 0)
	found, err := o.find(ctx, paths)
	if err != nil {
		found = []clusters.Result{clusters.Failed(err)}
	}
	var done atomic.Int64
	results := clusters.Each(ctx, found, func(r clusters.Result) result[T] {
		of := result[T]{Result: r}
		if r.Docs != nil && r.Err == nil {
			of.target = r.For(target)
			of.Err = transform.Guard(r.Place(), func() (err error) {
				if err = checkHostNames(o.hostNames, r.Cluster); err == nil {
					of.made, err = work(r.Cluster, of.target)
				}
				return err
			})
		}
		o.progress.Reached("clusters", int(done.Add(1)), len(found))
		return of
	})
	return results, ctx.Err()
}

// find finds the clusters.
func (o *options) find(ctx context.Context, paths []string) ([]clusters.Result, error) {
	if err := o.checkPaths(paths); err != nil {
		return nil, err
	}
	if !o.live() {
		if err := o.checkFiles(paths); err != nil {
			return nil, err
		}
		found := o.finder().Files(ctx, paths, o.in)
		if n := len(found.Saved); n > 0 {
			fmt.Fprintf(o.err, "note: %d files of saved plans are not read, such as %s; apply them with --plan\n", n, found.Saved[0].Name)
		}
		if o.skipUnknown && len(found.Results) == 0 { // as in the files of a commit
			fmt.Fprintln(o.err, "note: no cluster in these files")
		}
		return found.Results, nil
	}
	if err := o.checkLiveValues(); err != nil {
		return nil, err
	}
	server, err := o.connect(o.streams, defaultRetryTime)
	if err != nil {
		return nil, err
	}
	return o.finder().Rancher(ctx, server, o.rancherVersion(ctx, server), o.query()), nil
}

// checkHostNames refuses host names for RKE, whose kubelets take another name than the host's.
func checkHostNames(file string, c clusters.Cluster) error {
	if file == "" || c.Distro.Live.Kind != transform.Management {
		return nil
	}
	return c.Docs[0].Root().Errorf("--"+hostNames+" proves nothing for RKE: its kubelets have the hostname_override of the node, and not the host name", "remove the flag; the switch keeps the names with useInstanceMetadataHostname")
}

// rancherVersion reads the version of a Rancher, and says if it is not a known one.
func (o *options) rancherVersion(ctx context.Context, server *rancher.Server) string {
	version := cmp.Or(o.choices.RancherVersion, server.Version(ctx))
	if v := ranchers.Of(version); version != "" && !v.Known {
		known := ranchers.Table()
		fmt.Fprintf(o.err, "note: Rancher %s is not one of the known versions (%s to %s) and is treated as the strictest of them; --rancher-version sets another one\n",
			version, strings.TrimPrefix(known[0].Minor, "v"), strings.TrimPrefix(known[len(known)-1].Minor, "v"))
	}
	return version
}

// checkFiles refuses to look for nothing.
func (o *options) checkFiles(paths []string) error {
	if len(paths) == 0 {
		return errors.New("no path; use a file, a folder, or - for standard input")
	}
	if o.distro != "" {
		return checkOneOf("distro", o.distro, distroNames()...)
	}
	return nil
}
