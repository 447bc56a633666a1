// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

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
	return clusters.Finder{Distros: known, Forced: o.distro != "", Apart: o.apart, Overlays: o.overlays, Excluded: o.excluded, Values: o.values, Only: only, Unknown: o.skipUnknown, Configs: o.hostNames != "" || o.choices.EndState == transform.EndStateExternal}
}

// clusters calls work for every cluster in the paths, or in the Rancher that the flags
// name, and yields what comes of it in their order.
func (o *options) clusters(ctx context.Context, paths []string, work clusters.Work) iter.Seq[clusters.Result] {
	if err := o.checkPaths(paths); err != nil {
		return clusters.Failed(err)
	}
	with := work
	work = func(c clusters.Cluster) (func() error, error) {
		if err := checkHostNames(o.hostNames, c); err != nil {
			return nil, err
		}
		return with(c)
	}
	if !o.live() {
		if err := o.checkFiles(paths); err != nil {
			return clusters.Failed(err)
		}
		return o.watched(ctx, o.inFiles(ctx, paths, work))
	}
	if err := o.checkLiveValues(); err != nil {
		return clusters.Failed(err)
	}
	server, err := o.connect(o.streams, defaultRetryTime)
	if err != nil {
		return clusters.Failed(err)
	}
	return o.watched(ctx, o.finderOf("clusters").Rancher(ctx, server, o.rancherVersion(ctx, server), o.query(), work))
}

// checkHostNames refuses host names for RKE, whose kubelets take another name than the host's.
func checkHostNames(file string, c clusters.Cluster) error {
	if file == "" || c.Distro.Live.Kind != transform.Management {
		return nil
	}
	return c.Docs[0].Root().Errorf("--"+hostNames+" proves nothing for RKE: its kubelets have the hostname_override of the node, and not the host name", "remove the flag; the switch keeps the names with useInstanceMetadataHostname")
}

// inFiles calls work for every cluster in the paths. If files without one are skipped, there may
// be none, as in the files of a commit.
func (o *options) inFiles(ctx context.Context, paths []string, work clusters.Work) iter.Seq[clusters.Result] {
	return func(yield func(clusters.Result) bool) {
		none := o.skipUnknown
		for r := range o.finderOf("files").Files(ctx, paths, o.in, work) {
			if n := len(r.Saved); n > 0 {
				fmt.Fprintf(o.err, "note: %d files of saved plans are not read, such as %s; apply them with --plan\n", n, r.Saved[0].Name)
				continue
			}
			if none = false; !yield(r) {
				return
			}
		}
		if none {
			fmt.Fprintln(o.err, "note: no cluster in these files")
		}
	}
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
