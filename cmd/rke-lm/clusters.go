// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/transform"
)

// finder finds the clusters that the flags mean.
func (o *options) finder() clusters.Finder {
	known := slices.DeleteFunc(slices.Clone(distros()), func(d transform.Distro) bool { return o.distro != "" && d.Name != o.distro })
	return clusters.Finder{Distros: known, Forced: o.distro != "", Apart: o.apart, Overlays: o.overlays}
}

// clusters calls work for every cluster in the paths, or in the Rancher that the flags
// name, and yields what comes of it in their order.
func (o *options) clusters(ctx context.Context, paths []string, work clusters.Work) iter.Seq[clusters.Result] {
	if err := o.checkPaths(paths); err != nil {
		return clusters.Failed(err)
	}
	if !o.live() {
		if err := o.checkFiles(paths); err != nil {
			return clusters.Failed(err)
		}
		return o.finder().Files(ctx, paths, o.in, work)
	}
	server, err := o.connect(o.streams, defaultRetryTime)
	if err != nil {
		return clusters.Failed(err)
	}
	return o.finder().Rancher(ctx, server, o.query(), work)
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
